import { ipGroupGid } from '../address/ip-group.js';
import { multicastMac } from '../address/multicast-mac.js';
import type { AddressHandle } from '../contract/address-handle.js';
import { RESET_REASONS } from '../errors/reset-reason.js';
import { componentMaskFields } from '../records/component-mask.js';
import type { JoinCompletion } from '../contract/provider.js';
import { JOIN_STATES, SELECTORS } from '../records/canonical-record.js';
import type { JoinState, McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import { gidText, portGidText, writeGidWords } from './gid-words.js';

// The layout that native/addon/exchange.h describes; the addon refuses arrays of another size.
const RECORD_SLOTS = 28;
const COMPLETION_HEAD = 12;
const COMPLETION_SLOTS = COMPLETION_HEAD + RECORD_SLOTS;
const BATCH = 16;

/** Makes the array in which completions arrive. */
export function incomingArray(): Float64Array {
  return new Float64Array(BATCH * COMPLETION_SLOTS);
}

/** Makes the array in which a request leaves. */
export function outgoingArray(): Float64Array {
  return new Float64Array(1 + RECORD_SLOTS + 4);
}

// Sixteen combinations of four bits: shared, since nobody may change them.
const JOIN_STATE_SETS: readonly (readonly JoinState[])[] = Array.from({ length: 16 }, (_, bits) =>
  Object.freeze(JOIN_STATES.filter((_state, bit) => (bits >> bit) & 1)),
);

/** The join states of four bits. */
export function joinStatesOf(bits: number): readonly JoinState[] {
  return JOIN_STATE_SETS[bits & 15] ?? [];
}

function joinStateBits(states: JoinState | readonly JoinState[] | undefined): number {
  const list = typeof states === 'string' ? [states] : (states ?? ['full-member']);
  return list.reduce((bits, state) => bits | (1 << JOIN_STATES.indexOf(state)), 0);
}

/** The record that stands at `at`. */
export function readRecord(slots: Float64Array, at: number): McMemberRecord {
  const number = (offset: number): number => slots[at + offset] ?? 0;
  const selector = (offset: number) => SELECTORS[number(offset)] ?? 'exactly';
  return {
    mgid: gidText(slots.subarray(at, at + 4)),
    portGid: portGidText(slots, at + 4),
    qkey: number(8),
    mlid: number(9),
    mtuSelector: selector(10),
    mtuCode: number(11),
    mtu: number(12),
    trafficClass: number(13),
    pkey: number(14),
    rateSelector: selector(15),
    rateCode: number(16),
    rate: number(17),
    packetLifeTimeSelector: selector(18),
    packetLifeTime: number(19),
    sl: number(20),
    flowLabel: number(21),
    hopLimit: number(22),
    scope: number(23),
    joinState: joinStatesOf(number(24)),
    proxyJoin: number(25) !== 0,
  };
}

/** The handle of the completion at `index`. */
export function completionHandle(slots: Float64Array, index: number): number {
  return slots[index * COMPLETION_SLOTS] ?? 0;
}

/** The completion at `index`. */
export function readCompletion(slots: Float64Array, index: number): JoinCompletion {
  const at = index * COMPLETION_SLOTS;
  const completion: JoinCompletion = { status: slots[at + 1] ?? 0 };
  const saStatus = slots[at + 2] ?? -1;
  if (saStatus >= 0) completion.saStatus = saStatus;
  const fields = slots[at + 3] ?? 0;
  if (fields !== 0) completion.fields = componentMaskFields(BigInt(fields));
  const reason = RESET_REASONS[(slots[at + 4] ?? 0) - 1];
  if (reason !== undefined) completion.reason = reason;
  if ((slots[at + 5] ?? 0) !== 0) {
    const record = readRecord(slots, at + COMPLETION_HEAD);
    completion.record = record;
    if ((slots[at + 8] ?? 0) !== 0) {
      completion.addressHandle = addressHandleOf(record, {
        port: slots[at + 9] ?? 0,
        sgidIndex: slots[at + 10] ?? 0,
        staticRate: slots[at + 11] ?? 0,
      });
    }
  }
  if ((slots[at + 6] ?? 0) !== 0) completion.cause = slots[at + 7] ?? 0;
  return completion;
}

/** Built from what was granted and from what only the sender's port knows. */
function addressHandleOf(
  record: McMemberRecord,
  own: { port: number; sgidIndex: number; staticRate: number },
): AddressHandle {
  // A multicast LID is what InfiniBand has and RoCE has not.
  const roce = record.mlid === 0;
  const { mgid, mlid, sl, flowLabel, hopLimit, trafficClass } = record;
  return {
    type: roce ? 'roce' : 'infiniband',
    port: own.port,
    dlid: mlid,
    sl,
    staticRate: own.staticRate,
    grh: { sgidIndex: own.sgidIndex, dgid: mgid, flowLabel, hopLimit, trafficClass },
    ...(roce ? { dmac: multicastMac(mgid) } : {}),
  };
}

/** Puts a request where the addon reads it. */
export function writeRequest(
  slots: Float64Array,
  record: Readonly<McMemberRecordInit>,
  mgid: string,
  componentMask: bigint,
  group?: string,
): void {
  slots.fill(0);
  if (group !== undefined) writeGidWords(ipGroupGid(group), slots, 1 + RECORD_SLOTS);
  slots[0] = Number(componentMask);
  const selector = (value: McMemberRecordInit['mtuSelector']): number =>
    SELECTORS.indexOf(value ?? 'exactly');
  writeGidWords(mgid, slots, 1);
  if (record.portGid !== undefined) writeGidWords(record.portGid, slots, 5);
  const rest: number[] = [
    record.qkey ?? 0,
    record.mlid ?? 0,
    selector(record.mtuSelector),
    0,
    record.mtu ?? 0,
    record.trafficClass ?? 0,
    record.pkey ?? 0,
    selector(record.rateSelector),
    0,
    record.rate ?? 0,
    selector(record.packetLifeTimeSelector),
    record.packetLifeTime ?? 0,
    record.sl ?? 0,
    record.flowLabel ?? 0,
    record.hopLimit ?? 0,
    record.scope ?? 0,
    joinStateBits(record.joinState),
    record.proxyJoin === true ? 1 : 0,
  ];
  slots.set(rest, 9);
}
