import type { NativeSaRequest, NativeTable } from '../binding/addon.js';
import { packMcMemberRecord, unpackMcMemberRecord } from '../codec/mc-member-record.js';
import { packPathRecord, unpackPathRecord } from '../codec/path-record.js';
import { packServiceRecord, unpackServiceRecord } from '../codec/service-record.js';
import type { SaRecordKind, SaRecords } from '../contract/query.js';

/** The methods of the SA protocol by their numbers. */
export const SA_METHODS = { get: 0x01, set: 0x02, getTable: 0x12, delete: 0x15 } as const;

interface Attribute<K extends SaRecordKind> {
  readonly id: number;
  readonly bytes: number;
  readonly pack: (record: Readonly<SaRecords[K]['asked']>) => Uint8Array;
  readonly unpack: (bytes: Uint8Array) => SaRecords[K]['reported'];
}

const ATTRIBUTES: { readonly [K in SaRecordKind]: Attribute<K> } = {
  'path-record': { id: 0x35, bytes: 64, pack: packPathRecord, unpack: unpackPathRecord },
  'mc-member-record': {
    id: 0x38,
    bytes: 52,
    pack: packMcMemberRecord,
    unpack: unpackMcMemberRecord,
  },
  'service-record': {
    id: 0x31,
    bytes: 176,
    pack: packServiceRecord,
    unpack: unpackServiceRecord,
  },
};

/** One request for records of a kind. */
export function saRequest<K extends SaRecordKind>(
  kind: K,
  method: number,
  request: {
    readonly record: Readonly<SaRecords[K]['asked']>;
    readonly componentMask: bigint;
    readonly smKey: bigint;
  },
): NativeSaRequest {
  const { id, bytes, pack } = ATTRIBUTES[kind];
  return {
    method,
    attribute: id,
    mask: request.componentMask,
    smKey: request.smKey,
    recordSize: bytes,
    data: pack(request.record),
  };
}

/** The records of an answer, each decoded when it is asked for. */
export function* recordsOf<K extends SaRecordKind>(
  kind: K,
  table: NativeTable | undefined,
): Generator<SaRecords[K]['reported'], void, undefined> {
  if (table === undefined) return;
  const { bytes, unpack } = ATTRIBUTES[kind];
  for (let index = 0; index < table.count; index += 1) {
    const at = index * table.stride;
    yield unpack(table.bytes.subarray(at, at + bytes));
  }
}
