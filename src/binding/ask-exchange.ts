import type { SaRecordKind, SaRecords } from '../contract/query.js';
import { requestSlots, writeRequest } from './exchange.js';
import { pathSlots, serviceSlots, writePath, writeService } from './record-exchange.js';

/** One SA request, its record in canonical form. */
export type NativeSaRequest = {
  [K in SaRecordKind]: {
    readonly kind: K;
    readonly method: number;
    readonly record: Readonly<SaRecords[K]['asked']>;
    readonly componentMask: bigint;
    readonly smKey: bigint;
  };
}[SaRecordKind];

/**
 * A question; or, with `undo`, something that stands until its handle is freed. `trap` alone is a
 * subscription to the reports of a trap.
 */
export type NativeAsk =
  | {
      make: NativeSaRequest;
      undo?: NativeSaRequest;
      /** Asks whether it still stands. */
      probe?: NativeSaRequest;
      /** Absent: for ever. */
      leaseMs?: number;
    }
  | { trap: number };

/** Attributes by their numbers, with the bytes of their records. */
export const ATTRIBUTES = {
  'path-record': { id: 0x35, bytes: 64 },
  'mc-member-record': { id: 0x38, bytes: 52 },
  'service-record': { id: 0x31, bytes: 176 },
} as const satisfies Record<SaRecordKind, { id: number; bytes: number }>;

// The layout that native/addon/ask_exchange.h describes. The component mask stands right before the
// record, as it does in the request of a join.
const HEAD = 6;
const REQUEST_SLOTS = HEAD + serviceSlots().length;

/** Where one SA request stands, as each kind of record has it. */
class RequestSlots {
  readonly head: Float64Array;
  readonly #path: Float64Array;
  readonly #service: Float64Array;
  readonly #multicast: Float64Array;

  constructor(all: Float64Array, at: number) {
    const from = (offset: number, length: number): Float64Array =>
      all.subarray(at + offset, at + offset + length);
    this.head = from(0, HEAD);
    this.#path = from(HEAD, pathSlots().length);
    this.#service = from(HEAD, serviceSlots().length);
    this.#multicast = from(HEAD - 1, requestSlots().length);
  }

  write(request: NativeSaRequest | undefined): void {
    const { head } = this;
    head[0] = request?.method ?? 0;
    if (request === undefined) return;
    const { kind, componentMask, smKey } = request;
    if (kind === 'path-record') writePath(this.#path, request.record);
    else if (kind === 'service-record') writeService(this.#service, request.record);
    else writeRequest(this.#multicast, request.record, request.record.mgid ?? '::', 0n);
    head[1] = ATTRIBUTES[kind].id;
    head[2] = smKey === 0n ? 0 : Number(smKey >> 32n);
    head[3] = smKey === 0n ? 0 : Number(smKey & 0xffffffffn);
    head[4] = ATTRIBUTES[kind].bytes;
    head[5] = Number(componentMask);
  }
}

/** The array in which questions leave. */
export class Questions {
  readonly slots = new Float64Array(3 * REQUEST_SLOTS);
  readonly #requests = [0, 1, 2].map((i) => new RequestSlots(this.slots, i * REQUEST_SLOTS));

  write(ask: Exclude<NativeAsk, { trap: number }>): void {
    const [make, undo, probe] = this.#requests;
    make?.write(ask.make);
    undo?.write(ask.undo);
    probe?.write(ask.probe);
  }
}

/** The records of an answer, `stride` bytes from one to the next, or a report. */
export interface NativeTable {
  bytes: Uint8Array;
  /** Where the first record begins. */
  at: number;
  stride: number;
  count: number;
  truncated: boolean;
  /** Of a report: the GID it is about. */
  reportedGid?: string;
}
