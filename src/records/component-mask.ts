import type { McMemberRecordInit } from './mc-member-record.js';

/** The fields of an MCMemberRecord in the order of their bits in the component mask, from bit 0. */
export const MC_MEMBER_FIELDS = [
  'mgid',
  'portGid',
  'qkey',
  'mlid',
  'mtuSelector',
  'mtu',
  'trafficClass',
  'pkey',
  'rateSelector',
  'rate',
  'packetLifeTimeSelector',
  'packetLifeTime',
  'sl',
  'flowLabel',
  'hopLimit',
  'scope',
  'joinState',
  'proxyJoin',
] as const satisfies readonly (keyof McMemberRecordInit)[];

/** A field of an MCMemberRecord that has a bit in the component mask. */
export type McMemberField = (typeof MC_MEMBER_FIELDS)[number];

/** All bits of the component mask of MCMemberRecord, 0 to 17. */
export const MC_MEMBER_MASK_ALL = (1n << BigInt(MC_MEMBER_FIELDS.length)) - 1n;

/** The component mask of the fields named. */
export function componentMaskOf(fields: Iterable<McMemberField>): bigint {
  let mask = 0;
  for (const field of fields) mask |= 1 << MC_MEMBER_FIELDS.indexOf(field);
  return BigInt(mask);
}

/** The fields whose bits are set, in the order of the bits. Other bits are ignored. */
export function componentMaskFields(mask: bigint): McMemberField[] {
  return MC_MEMBER_FIELDS.filter((_, bit) => ((mask >> BigInt(bit)) & 1n) === 1n);
}

const ALWAYS = Number(componentMaskOf(['mgid', 'portGid']));

/**
 * The mask of a canonical record: one bit per field present, and those of the MGID and the port GID
 * in any case, since a provider fills them in where the request leaves them open.
 */
export function recordComponentMask(record: Readonly<McMemberRecordInit>): bigint {
  // In plain numbers, which hold the 18 bits as well and cost less than as many bigints.
  let mask = ALWAYS;
  for (let bit = 0; bit < MC_MEMBER_FIELDS.length; bit += 1) {
    const field = MC_MEMBER_FIELDS[bit];
    if (field !== undefined && record[field] !== undefined) mask |= 1 << bit;
  }
  return BigInt(mask);
}
