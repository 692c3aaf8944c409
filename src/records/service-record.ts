/** A ServiceRecord as the subnet administrator reports it. */
export interface ServiceRecord {
  readonly serviceId: bigint;
  /** GID of the port that offers the service. */
  readonly serviceGid: string;
  /** P_Key, 0 to 0xffff. */
  readonly pkey: number;
  /** Seconds; Infinity for one that never runs out. As registered: it does not count down. */
  readonly leaseSeconds: number;
  /** 16 bytes as 32 hexadecimal digits. Administrators show it to the trusted only, and zeros else. */
  readonly key: string;
  /** Text up to the first zero byte; what is no UTF-8 is replaced by U+FFFD. */
  readonly name: string;
  /** All 64 bytes of the name. */
  readonly nameBytes: Uint8Array;
  /** 16 numbers of 8 bits, for the service's own use. */
  readonly data8: readonly number[];
  /** 8 numbers of 16 bits. */
  readonly data16: readonly number[];
  /** 4 numbers of 32 bits. */
  readonly data32: readonly number[];
  /** 2 numbers of 64 bits. */
  readonly data64: readonly bigint[];
}

/**
 * The fields of a ServiceRecord to register, to ask for or to pack. Every field that is present sets
 * its bit in the component mask; of the data areas each element that is present, from the first.
 */
export interface ServiceRecordInit {
  serviceId?: bigint | undefined;
  /** For a registration default: the port's own GID. */
  serviceGid?: string | undefined;
  pkey?: number | undefined;
  /** Whole seconds, 0 to 0xfffffffe, or Infinity. */
  leaseSeconds?: number | undefined;
  /** 32 hexadecimal digits. */
  key?: string | undefined;
  /** At most 64 bytes of UTF-8, without zero bytes; or exactly 64 bytes. */
  name?: string | Uint8Array | undefined;
  data8?: readonly number[] | undefined;
  data16?: readonly number[] | undefined;
  data32?: readonly number[] | undefined;
  data64?: readonly bigint[] | undefined;
}

/** A field of a ServiceRecord. */
export type ServiceField = keyof ServiceRecordInit;

/** The first bit of each field in the component mask of ServiceRecord, in the order of the bits. */
export const SERVICE_COMPONENT_BITS: Readonly<Record<ServiceField, bigint>> = {
  serviceId: 0n,
  serviceGid: 1n,
  pkey: 2n,
  leaseSeconds: 4n,
  key: 5n,
  name: 6n,
  data8: 7n,
  data16: 23n,
  data32: 31n,
  data64: 35n,
};

/** The fields of a ServiceRecord in the order of their bits. */
export const SERVICE_FIELDS = Object.keys(SERVICE_COMPONENT_BITS) as readonly ServiceField[];

/** The component mask of a ServiceRecord: the bits of the fields and data elements present. */
export function serviceComponentMask(record: Readonly<ServiceRecordInit>): bigint {
  return SERVICE_FIELDS.reduce((mask, field) => {
    const value = record[field];
    if (value === undefined) return mask;
    // The data areas are the fields that are lists; a name of bytes is one field all the same.
    const elements = Array.isArray(value) ? value.length : 1;
    return mask | (((1n << BigInt(elements)) - 1n) << SERVICE_COMPONENT_BITS[field]);
  }, 0n);
}
