import type * as Page from '../../src/index.js';
import type { MulticastProvider } from '../../src/contract/provider.js';

/** What a query said. */
export interface Asked {
  records: Record<string, unknown>[];
  /** Of the error it ended with. */
  code?: string;
  message?: string;
}

export function plain<T>(value: T): T;
export function revived<T>(value: T): T;
export function askAll(
  page: Partial<typeof Page>,
  name: string,
  args: readonly unknown[],
  provider: MulticastProvider,
): Promise<Asked>;
