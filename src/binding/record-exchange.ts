import { SELECTORS } from '../records/canonical-record.js';
import { SERVICE_NAME_BYTES } from '../records/canonical-service.js';
import type { Selector } from '../records/mc-member-record.js';
import type { InfiniBandPathRecord, PathRecordInit } from '../records/path-record.js';
import type { ServiceRecord, ServiceRecordInit } from '../records/service-record.js';
import { gidOfWords, writeGidWords } from '../address/gid.js';
import { portGidText } from './gid-words.js';

// The layouts that native/addon/record_codec.h describes; the addon refuses arrays of another size.
const PATH_SLOTS = 30;
const SERVICE_SLOTS = 120;
const INDEFINITE_LEASE = 0xffffffff;

/** Makes the array in which a PathRecord crosses. */
export function pathSlots(): Float64Array {
  return new Float64Array(PATH_SLOTS);
}

/** Makes the array in which a ServiceRecord crosses. */
export function serviceSlots(): Float64Array {
  return new Float64Array(SERVICE_SLOTS);
}

function writeBigint(value: bigint, slots: Float64Array, at: number): void {
  if (value === 0n) slots.fill(0, at, at + 2);
  else slots.set([Number(value >> 32n), Number(value & 0xffffffffn)], at);
}

function readBigint(slots: Float64Array, at: number): bigint {
  const [high = 0, low = 0] = [slots[at], slots[at + 1]];
  return high === 0 ? BigInt(low) : (BigInt(high) << 32n) | BigInt(low);
}

function selectorCode(selector: Selector | undefined): number {
  return SELECTORS.indexOf(selector ?? 'exactly');
}

/** A path to be packed: codes count where there is no value in bytes or Gb/s. */
export type PackablePath = PathRecordInit & { mtuCode?: number; rateCode?: number };

/** Puts the fields of a canonical PathRecord where the addon reads them. */
export function writePath(slots: Float64Array, record: Readonly<PackablePath>): void {
  slots.fill(0);
  writeBigint(record.serviceId ?? 0n, slots, 0);
  writeGidWords(record.dgid ?? '::', slots, 2);
  writeGidWords(record.sgid ?? '::', slots, 6);
  slots[10] = record.dlid ?? 0;
  slots[11] = record.slid ?? 0;
  slots[12] = record.rawTraffic === true ? 1 : 0;
  slots[13] = record.flowLabel ?? 0;
  slots[14] = record.hopLimit ?? 0;
  slots[15] = record.trafficClass ?? 0;
  slots[16] = record.reversible === true ? 1 : 0;
  slots[17] = record.numbPath ?? 0;
  slots[18] = record.pkey ?? 0;
  slots[19] = record.qosClass ?? 0;
  slots[20] = record.sl ?? 0;
  slots[21] = selectorCode(record.mtuSelector);
  slots[22] = record.mtuCode ?? 0;
  slots[23] = record.mtu ?? 0;
  slots[24] = selectorCode(record.rateSelector);
  slots[25] = record.rateCode ?? 0;
  slots[26] = record.rate ?? 0;
  slots[27] = selectorCode(record.packetLifeTimeSelector);
  slots[28] = record.packetLifeTime ?? 0;
  slots[29] = record.preference ?? 0;
}

/** The PathRecord that the addon has written. */
export function readPath(slots: Float64Array): InfiniBandPathRecord {
  const number = (at: number): number => slots[at] ?? 0;
  const selector = (at: number): Selector => SELECTORS[number(at)] ?? 'exactly';
  return {
    type: 'infiniband',
    serviceId: readBigint(slots, 0),
    dgid: gidOfWords(slots, 2),
    sgid: portGidText(slots, 6),
    dlid: number(10),
    slid: number(11),
    rawTraffic: number(12) !== 0,
    flowLabel: number(13),
    hopLimit: number(14),
    trafficClass: number(15),
    reversible: number(16) !== 0,
    numbPath: number(17),
    pkey: number(18),
    qosClass: number(19),
    sl: number(20),
    mtuSelector: selector(21),
    mtuCode: number(22),
    mtu: number(23),
    rateSelector: selector(24),
    rateCode: number(25),
    rate: number(26),
    packetLifeTimeSelector: selector(27),
    packetLifeTime: number(28),
    preference: number(29),
  };
}

/** Puts the fields of a canonical ServiceRecord where the addon reads them. */
export function writeService(slots: Float64Array, record: Readonly<ServiceRecordInit>): void {
  slots.fill(0);
  writeBigint(record.serviceId ?? 0n, slots, 0);
  writeGidWords(record.serviceGid ?? '::', slots, 2);
  const { pkey = 0, leaseSeconds = 0, key = '', name = '' } = record;
  slots[6] = pkey;
  slots[7] = leaseSeconds === Infinity ? INDEFINITE_LEASE : leaseSeconds;
  slots.set(Buffer.from(key, 'hex'), 8);
  slots.set(typeof name === 'string' ? new TextEncoder().encode(name) : name, 24);
  slots.set(record.data8 ?? [], 88);
  slots.set(record.data16 ?? [], 104);
  slots.set(record.data32 ?? [], 112);
  (record.data64 ?? []).forEach((value, index) => {
    writeBigint(value, slots, 116 + 2 * index);
  });
}

/** The ServiceRecord that the addon has written. */
export function readService(slots: Float64Array): ServiceRecord {
  const list = (from: number, length: number): number[] => [...slots.subarray(from, from + length)];
  const nameBytes = Uint8Array.from(slots.subarray(24, 24 + SERVICE_NAME_BYTES));
  const end = nameBytes.indexOf(0);
  const lease = slots[7] ?? 0;
  return {
    serviceId: readBigint(slots, 0),
    serviceGid: gidOfWords(slots, 2),
    pkey: slots[6] ?? 0,
    leaseSeconds: lease === INDEFINITE_LEASE ? Infinity : lease,
    key: Buffer.from(list(8, 16)).toString('hex'),
    name: new TextDecoder('utf-8', { ignoreBOM: true }).decode(
      end < 0 ? nameBytes : nameBytes.subarray(0, end),
    ),
    nameBytes,
    data8: list(88, 16),
    data16: list(104, 8),
    data32: list(112, 4),
    data64: [readBigint(slots, 116), readBigint(slots, 118)],
  };
}
