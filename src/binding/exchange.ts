import { ipGroupGid } from '../address/ip-group.js';
import { UNASSIGNED_MGID } from '../address/mgid.js';
import { multicastMac } from '../address/multicast-mac.js';
import type { AddressHandle } from '../contract/address-handle.js';
import { RESET_REASONS } from '../errors/reset-reason.js';
import { componentMaskFields } from '../records/component-mask.js';
import type { JoinCompletion } from '../contract/provider.js';
import { SELECTORS } from '../records/canonical-record.js';
import { joinStateBits, joinStatesOf } from '../records/join-states.js';
import type { McMemberRecord, McMemberRecordInit, Selector } from '../records/mc-member-record.js';
import { gidOfWords, writeGidWords } from '../address/gid.js';
import type { NativeTable } from './ask-exchange.js';
import { portGidText } from './gid-words.js';

// The layout that native/addon/exchange.h describes; the addon refuses arrays of another size.
const RECORD_SLOTS = 28;
const COMPLETION_HEAD = 17;
const COMPLETION_SLOTS = COMPLETION_HEAD + RECORD_SLOTS;
const BATCH = 16;

/** Makes the array in which completions arrive. */
export function incomingArray(): Float64Array {
  return new Float64Array(BATCH * COMPLETION_SLOTS);
}

/** Makes an array in which a request leaves. */
export function requestSlots(): Float64Array {
  return new Float64Array(1 + RECORD_SLOTS + 4);
}

// Functions of their own rather than of each call: a record is read and written for each join.

/** Whole numbers as such: V8 gives each one that it has read from a Float64Array 16 bytes of its own. */
function numberAt(slots: Float64Array, at: number): number {
  const value = slots[at] ?? 0;
  const whole = value | 0;
  return whole === value ? whole : value;
}

function selectorAt(slots: Float64Array, at: number): Selector {
  return SELECTORS[numberAt(slots, at)] ?? 'exactly';
}

function selectorCode(value: Selector = 'exactly'): number {
  return SELECTORS.indexOf(value);
}

/** The record that stands at `at`; its MGID where that is not known anyhow. */
export function readRecord(
  slots: Float64Array,
  at: number,
  mgid = gidOfWords(slots, at),
): McMemberRecord {
  return {
    mgid,
    portGid: portGidText(slots, at + 4),
    qkey: numberAt(slots, at + 8),
    mlid: numberAt(slots, at + 9),
    mtuSelector: selectorAt(slots, at + 10),
    mtuCode: numberAt(slots, at + 11),
    mtu: numberAt(slots, at + 12),
    trafficClass: numberAt(slots, at + 13),
    pkey: numberAt(slots, at + 14),
    rateSelector: selectorAt(slots, at + 15),
    rateCode: numberAt(slots, at + 16),
    rate: numberAt(slots, at + 17),
    packetLifeTimeSelector: selectorAt(slots, at + 18),
    packetLifeTime: numberAt(slots, at + 19),
    sl: numberAt(slots, at + 20),
    flowLabel: numberAt(slots, at + 21),
    hopLimit: numberAt(slots, at + 22),
    scope: numberAt(slots, at + 23),
    joinState: joinStatesOf(numberAt(slots, at + 24)),
    proxyJoin: numberAt(slots, at + 25) !== 0,
  };
}

/** The handle of the completion at `index`. */
export function completionHandle(slots: Float64Array, index: number): number {
  return slots[index * COMPLETION_SLOTS] ?? 0;
}

/** The completion at `index`, of a join of `mgid`. */
export function readCompletion(slots: Float64Array, index: number, mgid: string): JoinCompletion {
  const at = index * COMPLETION_SLOTS;
  const completion: JoinCompletion = { status: slots[at + 1] ?? 0 };
  const saStatus = slots[at + 2] ?? -1;
  if (saStatus >= 0) completion.saStatus = saStatus;
  const fields = slots[at + 3] ?? 0;
  if (fields !== 0) completion.fields = componentMaskFields(BigInt(fields));
  const reason = RESET_REASONS[(slots[at + 4] ?? 0) - 1];
  if (reason !== undefined) completion.reason = reason;
  if ((slots[at + 5] ?? 0) !== 0) {
    // A group is granted under its own MGID, unless it was left to the fabric to assign one.
    const record = readRecord(
      slots,
      at + COMPLETION_HEAD,
      mgid === UNASSIGNED_MGID ? undefined : mgid,
    );
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

/** What comes beside the completion at `index`; `bytes` are those of the whole batch. */
export function readTable(
  slots: Float64Array,
  index: number,
  bytes: Uint8Array,
): NativeTable | undefined {
  const at = index * COMPLETION_SLOTS;
  const kind = slots[at + 12] ?? 0;
  if (kind === 0) return undefined;
  const table: NativeTable = {
    bytes,
    at: slots[at + 13] ?? 0,
    stride: slots[at + 14] ?? 0,
    count: slots[at + 15] ?? 0,
    truncated: slots[at + 16] === 1,
  };
  if (kind === 2) table.reportedGid = gidOfWords(slots, at + COMPLETION_HEAD);
  return table;
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
  writeGidWords(mgid, slots, 1);
  if (record.portGid !== undefined) writeGidWords(record.portGid, slots, 5);
  slots[9] = record.qkey ?? 0;
  slots[10] = record.mlid ?? 0;
  slots[11] = selectorCode(record.mtuSelector);
  slots[13] = record.mtu ?? 0;
  slots[14] = record.trafficClass ?? 0;
  slots[15] = record.pkey ?? 0;
  slots[16] = selectorCode(record.rateSelector);
  slots[18] = record.rate ?? 0;
  slots[19] = selectorCode(record.packetLifeTimeSelector);
  slots[20] = record.packetLifeTime ?? 0;
  slots[21] = record.sl ?? 0;
  slots[22] = record.flowLabel ?? 0;
  slots[23] = record.hopLimit ?? 0;
  slots[24] = record.scope ?? 0;
  slots[25] = joinStateBits(record.joinState);
  slots[26] = record.proxyJoin === true ? 1 : 0;
}
