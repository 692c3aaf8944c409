import type { NativeTable } from '../binding/ask-exchange.js';
import { nativeEnvironment } from '../binding/environment.js';
import type { Environment } from '../binding/environment.js';
import type { SaRecordKind, SaRecords } from '../contract/query.js';

/** The methods of the SA protocol by their numbers. */
export const SA_METHODS = { get: 0x01, set: 0x02, getTable: 0x12, delete: 0x15 } as const;

const UNPACK: {
  readonly [K in SaRecordKind]: (
    environment: Environment,
    bytes: Uint8Array,
    at: number,
  ) => SaRecords[K]['reported'];
} = {
  'path-record': (environment, bytes, at) => environment.unpackPathRecord(bytes, at),
  'mc-member-record': (environment, bytes, at) => environment.unpackMcMemberRecord(bytes, at),
  'service-record': (environment, bytes, at) => environment.unpackServiceRecord(bytes, at),
};

/** The records of an answer, each decoded when it is asked for. */
export function* recordsOf<K extends SaRecordKind>(
  kind: K,
  table: NativeTable | undefined,
): Generator<SaRecords[K]['reported'], void, undefined> {
  if (table === undefined) return;
  const unpack = UNPACK[kind];
  const environment = nativeEnvironment();
  for (let index = 0; index < table.count; index += 1) {
    yield unpack(environment, table.bytes, table.at + index * table.stride);
  }
}
