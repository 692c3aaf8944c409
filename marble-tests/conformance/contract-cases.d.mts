export type BackendName = 'embedded' | 'umad' | 'rdmacm';

export interface ContractCase {
  readonly name: string;
  /** Reasons for the backends that cannot express it. */
  readonly except?: Readonly<Partial<Record<BackendName, string>>>;
}

export const CONTRACT_CASES: readonly ContractCase[];
