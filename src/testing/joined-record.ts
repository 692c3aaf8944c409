import { ipoibMgid } from '../address/ipoib.js';
import { UNASSIGNED_MGID } from '../address/mgid.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import type { McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import { mtuCode, rateCode } from '../records/units.js';

const ASSIGNED_MGID = 'ff12:a01b:fe80::1';

type CanonicalFields = {
  readonly [K in keyof McMemberRecordInit]: Exclude<McMemberRecordInit[K], undefined>;
};

/** The MGID that a request is for, with an IP group mapped as IPoIB does. */
export function requestedMgid(request: ResolvedJoinRequest): string {
  return request.group === undefined
    ? (request.record.mgid ?? UNASSIGNED_MGID)
    : ipoibMgid(request.group, { pkey: request.record.pkey, scope: request.record.scope });
}

/** The record of a scripted `joined`: what was asked for, and plain values for the rest. */
export function joinedRecord(request: ResolvedJoinRequest): McMemberRecord {
  // What is absent from a canonical record is absent, and not undefined.
  const record = request.record as CanonicalFields;
  const { mtu = 2048, rate = 100, joinState = 'full-member' } = record;
  const mgid = requestedMgid(request);
  return {
    portGid: 'fe80::1',
    qkey: 0xb1b,
    mlid: 0xc000,
    mtuSelector: 'exactly',
    trafficClass: 0,
    pkey: 0xffff,
    rateSelector: 'exactly',
    packetLifeTime: 18,
    packetLifeTimeSelector: 'exactly',
    sl: 0,
    flowLabel: 0,
    hopLimit: 0,
    scope: 2,
    proxyJoin: false,
    ...record,
    mtu,
    mtuCode: mtuCode(mtu) ?? 0,
    rate,
    rateCode: rateCode(rate) ?? 0,
    joinState: typeof joinState === 'string' ? [joinState] : joinState,
    mgid: mgid === UNASSIGNED_MGID ? ASSIGNED_MGID : mgid,
  };
}
