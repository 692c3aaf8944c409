import { nativeEnvironment } from '../binding/environment.js';
import { canonicalService } from '../records/canonical-service.js';
import type { ServiceRecord, ServiceRecordInit } from '../records/service-record.js';
import { checkBytes } from './bytes.js';

/** Bytes of a ServiceRecord on the wire. */
export const SERVICE_RECORD_BYTES = 176;

/**
 * The 176 bytes of a ServiceRecord as they stand on the wire. Absent fields are 0. A record that was
 * unpacked can be packed again.
 *
 * @throws TypeError or RangeError for a field that is not as documented.
 */
export function packServiceRecord(record: Readonly<ServiceRecordInit> | ServiceRecord): Uint8Array {
  if (typeof record !== 'object' || (record as unknown) === null || !('nameBytes' in record)) {
    return nativeEnvironment().packServiceRecord(canonicalService(record));
  }
  // The bytes are the name; the text may be only what could be read of it.
  const { nameBytes, ...rest } = record;
  return nativeEnvironment().packServiceRecord(canonicalService({ ...rest, name: nameBytes }));
}

/**
 * Reads the 176 bytes of a ServiceRecord.
 *
 * @throws TypeError for what is no Uint8Array, RangeError for another length than 176.
 */
export function unpackServiceRecord(bytes: Uint8Array): ServiceRecord {
  checkBytes(bytes, SERVICE_RECORD_BYTES, 'a ServiceRecord');
  return nativeEnvironment().unpackServiceRecord(bytes);
}
