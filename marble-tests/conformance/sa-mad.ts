// MCMemberRecord requests and answers as 256-byte MADs. The records go through the package's own
// codec; what its types forbid is laid over the packed bytes, since a subnet administrator has to
// stand it.
import { canonicalGid, parseGid } from '../../src/address/gid.js';
import { packMcMemberRecord, unpackMcMemberRecord } from '../../src/codec/mc-member-record.js';
import { saStatusName } from '../../src/errors/sa-status.js';
import { SELECTORS } from '../../src/records/canonical-record.js';
import { componentMaskOf } from '../../src/records/component-mask.js';
import type { McMemberField } from '../../src/records/component-mask.js';
import { JOIN_STATES } from '../../src/records/join-states.js';
import type { McMemberRecordInit, Selector } from '../../src/records/mc-member-record.js';

export const METHODS = { Get: 0x01, Set: 0x02, GetTable: 0x12, GetMulti: 0x14, Delete: 0x15 };
export type Method = keyof typeof METHODS;

/** The bits of JoinState. */
export const FULL = 1;
export const NON = 2;
export const SEND = 4;
export const SEND_FULL = 8;

/**
 * A record as it travels. Codes that mean nothing stand in `mtuCode` and `rateCode`, and `mtu` and
 * `rate` are then absent; `joinState` is the sum of its bits.
 */
export interface WireRecord {
  mgid: string;
  portGid: string;
  qkey: number;
  mlid: number;
  mtuSelector: Selector;
  mtu?: number;
  mtuCode?: number;
  trafficClass: number;
  pkey: number;
  rateSelector: Selector;
  rate?: number;
  rateCode?: number;
  packetLifeTimeSelector: Selector;
  packetLifeTime: number;
  sl: number;
  flowLabel: number;
  hopLimit: number;
  scope: number;
  joinState: number;
  proxyJoin: boolean;
}

export interface SaRequest {
  method: Method;
  record: Partial<WireRecord>;
  mask: readonly McMemberField[];
  smKey?: bigint;
}

export interface SaAnswer {
  method: number;
  status: number;
  attributeModifier: number;
  smKey: bigint;
  /** Units of 8 bytes from one record to the next. */
  attributeOffset: number;
  componentMask: bigint;
  records: WireRecord[];
}

const MAD_BYTES = 256;
const DATA_AT = 56;
const RECORD_BYTES = 52;
const PADDED_RECORD_BYTES = 56;
/** As many as one MAD holds. */
const RECORDS_AT_MOST = 3;
const MC_MEMBER_RECORD = 0x38;

/** Where the fields stand that a request may fill with what the package's types forbid. */
const MLID_AT = 36;
const MTU_AT = 38;
const RATE_AT = 42;
const LIFETIME_AT = 43;
const STATE_AT = 48;

function packRecord(record: Partial<WireRecord>): Uint8Array {
  const { mgid, mlid, mtuCode, rateCode, joinState = 0, ...rest } = record;
  const bytes = packMcMemberRecord(rest satisfies McMemberRecordInit);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (mgid !== undefined) bytes.set(parseGid(mgid), 0);
  if (mlid !== undefined) view.setUint16(MLID_AT, mlid);
  const codes: [number, Selector | undefined, number | undefined][] = [
    [MTU_AT, record.mtuSelector, mtuCode],
    [RATE_AT, record.rateSelector, rateCode],
    [LIFETIME_AT, record.packetLifeTimeSelector, undefined],
  ];
  for (const [at, selector, code] of codes) {
    // The codec supplies a selector where there is none; here absent is 0, as on the wire.
    const value = code ?? view.getUint8(at) & 0x3f;
    view.setUint8(at, (SELECTORS.indexOf(selector ?? 'greater-than') << 6) | value);
  }
  view.setUint8(STATE_AT, (view.getUint8(STATE_AT) & 0xf0) | joinState);
  return bytes;
}

function unpackRecord(bytes: Uint8Array): WireRecord {
  const { mtu, mtuCode, rate, rateCode, joinState, ...rest } = unpackMcMemberRecord(bytes);
  return {
    ...rest,
    ...(mtu === 0 ? { mtuCode } : { mtu }),
    ...(rate === 0 ? { rateCode } : { rate }),
    joinState: joinState.reduce((bits, state) => bits | (1 << JOIN_STATES.indexOf(state)), 0),
  };
}

/** The MAD in hexadecimal. */
export function packRequest(request: SaRequest, transactionId: number): string {
  const mad = new Uint8Array(MAD_BYTES);
  const view = new DataView(mad.buffer);
  // Base version 1, class SubnAdm, class version 2.
  mad.set([1, 3, 2, METHODS[request.method]]);
  view.setUint32(12, transactionId);
  view.setUint16(16, MC_MEMBER_RECORD);
  view.setBigUint64(36, request.smKey ?? 0n);
  view.setBigUint64(48, componentMaskOf(request.mask));
  mad.set(packRecord(request.record), DATA_AT);
  return Buffer.from(mad.buffer).toString('hex');
}

/**
 * Reads an answer. A refusal carries one record, the request's; of a table as many are read as the
 * attribute offset and the MAD allow: a record without MGID ends it.
 */
export function unpackAnswer(hex: string): SaAnswer {
  const mad = Buffer.from(hex, 'hex');
  const status = mad.readUInt16BE(4);
  const answer: SaAnswer = {
    method: mad.readUInt8(3),
    status,
    attributeModifier: mad.readUInt32BE(20),
    smKey: mad.readBigUInt64BE(36),
    attributeOffset: mad.readUInt16BE(44),
    componentMask: mad.readBigUInt64BE(48),
    records: [],
  };
  const isTable = answer.method === 0x92 && status === 0;
  for (let index = 0; index < (isTable ? RECORDS_AT_MOST : 1); index += 1) {
    const at = DATA_AT + index * PADDED_RECORD_BYTES;
    if (at + RECORD_BYTES > mad.length) break;
    const bytes = mad.subarray(at, at + RECORD_BYTES);
    if (isTable && bytes.subarray(0, 16).every((byte) => byte === 0)) break;
    answer.records.push(unpackRecord(Uint8Array.from(bytes)));
  }
  return answer;
}

/** The record of a request as a refusal sends it back. */
export function echoOf(record: Partial<WireRecord>): WireRecord {
  return unpackRecord(packRecord({ ...record }));
}

/** The canonical text of 16 bytes in hexadecimal. */
export function gidOfHex(hex: string): string {
  return canonicalGid((hex.match(/.{4}/g) ?? []).join(':'));
}

/** An answer as it is compared: all that a client can see of it, and the name of its status. */
export function shown(answer: SaAnswer | undefined): unknown {
  if (answer === undefined) return 'silence';
  const { status, ...rest } = answer;
  return { status: saStatusName(status), ...rest };
}
