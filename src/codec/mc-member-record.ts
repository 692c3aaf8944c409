import { nativeEnvironment } from '../binding/environment.js';
import { canonicalRecord } from '../records/canonical-record.js';
import type { McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import { checkBytes } from './bytes.js';

/** Bytes of an MCMemberRecord on the wire. */
export const MC_MEMBER_RECORD_BYTES = 52;

/**
 * The 52 bytes of an MCMemberRecord as they stand on the wire. Absent fields are 0, an absent
 * selector is `exactly`, and an absent `joinState` is `full-member`.
 *
 * @throws TypeError or RangeError for a field that is not as documented.
 */
export function packMcMemberRecord(record: Readonly<McMemberRecordInit>): Uint8Array {
  return nativeEnvironment().packMcMemberRecord(canonicalRecord(record));
}

/**
 * Reads the 52 bytes of an MCMemberRecord. Codes that the specification does not define are kept.
 *
 * @throws TypeError for what is no Uint8Array, RangeError for another length than 52.
 */
export function unpackMcMemberRecord(bytes: Uint8Array): McMemberRecord {
  checkBytes(bytes, MC_MEMBER_RECORD_BYTES, 'an MCMemberRecord');
  return nativeEnvironment().unpackMcMemberRecord(bytes);
}
