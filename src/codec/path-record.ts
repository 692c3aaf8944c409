import { nativeEnvironment } from '../binding/environment.js';
import { canonicalPath } from '../records/canonical-path.js';
import { integerIn } from '../records/field-checks.js';
import { PATH_FIELDS } from '../records/path-record.js';
import type { InfiniBandPathRecord, PathRecord, PathRecordInit } from '../records/path-record.js';
import { checkBytes } from './bytes.js';

/** Bytes of a PathRecord on the wire. */
export const PATH_RECORD_BYTES = 64;

function isReported(record: Readonly<PathRecordInit> | PathRecord): record is PathRecord {
  return typeof record === 'object' && (record as unknown) !== null && 'type' in record;
}

/**
 * The 64 bytes of a PathRecord as they stand on the wire. Absent fields are 0, an absent selector is
 * `exactly`. A record that was unpacked can be packed again, with whatever codes it has.
 *
 * @throws TypeError or RangeError for a field that is not as documented, TypeError for a RoCE path,
 * which has no form on the wire.
 */
export function packPathRecord(record: Readonly<PathRecordInit> | PathRecord): Uint8Array {
  if (!isReported(record)) return nativeEnvironment().packPathRecord(canonicalPath(record));
  if (record.type !== 'infiniband') {
    throw new TypeError('a RoCE path has no form on the wire; expected an InfiniBand PathRecord');
  }
  // A value of 0 stands for a code without one.
  const known = PATH_FIELDS.filter((field) => record[field] !== 0);
  const fields = Object.fromEntries(known.map((field) => [field, record[field]]));
  return nativeEnvironment().packPathRecord({
    ...canonicalPath(fields),
    mtuCode: integerIn('mtuCode', record.mtuCode, 0, 63),
    rateCode: integerIn('rateCode', record.rateCode, 0, 63),
  });
}

/**
 * Reads the 64 bytes of a PathRecord. Codes that the specification does not define are kept.
 *
 * @throws TypeError for what is no Uint8Array, RangeError for another length than 64.
 */
export function unpackPathRecord(bytes: Uint8Array): InfiniBandPathRecord {
  checkBytes(bytes, PATH_RECORD_BYTES, 'a PathRecord');
  return nativeEnvironment().unpackPathRecord(bytes);
}
