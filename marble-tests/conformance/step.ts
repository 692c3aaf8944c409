// The words in which the cases of the conformance suite are written.
import { MC_MEMBER_FIELDS } from '../../src/records/component-mask.js';
import type { McMemberField } from '../../src/records/component-mask.js';
import { FULL } from './sa-mad.js';
import type { Method, SaRequest, WireRecord } from './sa-mad.js';

/**
 * The ports of both fabrics. A, B and C have links of 10 Gb/s, D one of 2.5; all of them carry an
 * MTU of 2048 bytes. All are full members of the default partition; A is a full member and B a
 * limited one of partition 0x0001, the others are not in it. The subnet manager has one of its own.
 */
export const PORTS = ['Sm', 'A', 'B', 'C', 'D'] as const;
export type PortName = (typeof PORTS)[number];

/** The PortGID of a port, but under the site-local subnet prefix, which the fabric has not. */
export const elsewhere = (name: PortName): string => `elsewhere ${name}`;

export const HALF_PARTITION = 0x8001;

/** Groups at most, the broadcast group included. */
export const MLIDS = 64;

/** An MGID that nothing else is about. */
export const G = 'ff12:cafe::1';
/** Others. */
export const G2 = 'ff12:cafe::2';
export const G3 = 'ff12:cafe::3';
export const G4 = 'ff12:cafe::4';
/** The subnet manager's own group of the default partition. */
export const BROADCAST = 'ff12:401b:ffff::ffff:ffff';

/** The nth MGID that the administrator has assigned within the case, counted from 1. */
export const assigned = (n: number): string => `assigned ${String(n)}`;

/** What creating a group takes beside MGID, PortGID and JoinState; no value is a default. */
export const CREATION = {
  qkey: 0x1234,
  trafficClass: 7,
  pkey: 0xffff,
  sl: 2,
  flowLabel: 0xabcde,
} satisfies Partial<WireRecord>;

/** The values of the broadcast group, which IPoIB groups share. */
export const IPOIB = {
  qkey: 0xb1b,
  trafficClass: 0,
  pkey: 0xffff,
  sl: 0,
  flowLabel: 0,
} satisfies Partial<WireRecord>;

export type StatementId = `o15-0.1.${number}`;

export type Refusal =
  | 'METHOD_ATTRIBUTE_UNSUPPORTED'
  | 'NO_RESOURCES'
  | 'REQ_INVALID'
  | 'NO_RECORDS'
  | 'TOO_MANY_RECORDS'
  | 'REQ_INVALID_GID'
  | 'INSUFFICIENT_COMPONENTS';

export type Expected = 'silence' | Refusal | readonly WireRecord[];

export interface Step extends SaRequest {
  by: PortName;
  expected: Expected;
}

export interface ConformanceCase {
  statement: StatementId;
  name: string;
  steps: readonly Step[];
  /** Where OpenSM answers otherwise than one would read the statement; its answer counts. */
  measured?: string;
  /** The groups that OpenSM never deletes after this case. */
  pinned?: readonly string[];
}

/** Fields of a record, PortGID by the name of its port. */
export type Fields = Partial<WireRecord>;

interface Masking {
  /** Fields whose value is sent while their bit is not. */
  unmasked?: readonly McMemberField[];
  smKey?: bigint;
}

/** A request, to be completed by what is expected. */
interface Asked extends Step {
  /** Refused, with the request's record in the answer. */
  refused(status: Refusal): Step;
  /** Not answered at all. */
  silent(): Step;
  /** Answered with one record: that of a group as CREATION describes it, but for `fields`. */
  gives(fields?: Fields): Step;
  /** Answered with a table. */
  lists(...records: Fields[]): Step;
}

/** The record of a group of CREATION, as the administrator reports it. */
function groupRecord(fields: Fields): WireRecord {
  const record: WireRecord = {
    mgid: G,
    portGid: '::',
    ...CREATION,
    mlid: 0xc001,
    mtuSelector: 'exactly',
    mtu: 2048,
    rateSelector: 'exactly',
    rate: 10,
    packetLifeTimeSelector: 'exactly',
    packetLifeTime: 0,
    hopLimit: 0,
    scope: 0,
    joinState: 0,
    proxyJoin: false,
  };
  return { ...record, ...fields };
}

/** The record of the broadcast group. */
export const BROADCAST_RECORD = {
  ...IPOIB,
  mgid: BROADCAST,
  mlid: 0xc000,
  packetLifeTime: 18,
  scope: 2,
} satisfies Fields;

function maskOf(record: Fields, unmasked: readonly McMemberField[]): McMemberField[] {
  const given = new Set<string>(Object.keys(record));
  if (given.has('mtuCode')) given.add('mtu');
  if (given.has('rateCode')) given.add('rate');
  return MC_MEMBER_FIELDS.filter((field) => given.has(field) && !unmasked.includes(field));
}

/** A request by a port; every field given is in the component mask. */
export function ask(
  method: Method,
  by: PortName,
  record: Fields,
  { unmasked = [], smKey = 0n }: Masking = {},
): Asked {
  const step: Step = {
    by,
    method,
    record,
    mask: maskOf(record, unmasked),
    smKey,
    expected: 'silence',
  };
  // What a grant says beyond the request is the group's; what it says of these is never the request's.
  const settled = ['mtu', 'mtuCode', 'mtuSelector', 'rate', 'rateCode', 'rateSelector'];
  settled.push('mlid', 'packetLifeTimeSelector');
  const kept = Object.fromEntries(Object.entries(record).filter(([key]) => !settled.includes(key)));
  return {
    ...step,
    refused: (status) => ({ ...step, expected: status }),
    silent: () => step,
    gives: (fields = {}) => ({
      ...step,
      expected: [groupRecord({ ...(method === 'Set' ? kept : {}), ...fields })],
    }),
    lists: (...records) => ({ ...step, expected: records.map(groupRecord) }),
  };
}

/** A Set with everything that creating a group takes. */
export function create(by: PortName, fields: Fields = {}, masking?: Masking): Asked {
  return ask('Set', by, { mgid: G, portGid: by, ...CREATION, joinState: FULL, ...fields }, masking);
}

/** A Set with MGID, PortGID and JoinState alone. */
export function join(by: PortName, fields: Fields = {}, masking?: Masking): Asked {
  return ask('Set', by, { mgid: G, portGid: by, joinState: FULL, ...fields }, masking);
}

/** A Delete of some bits. The answer has the bits that are left, and the request's other fields. */
export function leave(
  by: PortName,
  joinState: number,
  fields: Fields = {},
  masking?: Masking,
): Asked & { leaves(joinState: number, scope?: number): Step } {
  const record = { mgid: G, portGid: by, joinState, ...fields };
  const asked = ask('Delete', by, record, masking);
  return {
    ...asked,
    leaves: (left, scope = 0) => ({
      ...asked,
      expected: [
        {
          qkey: 0,
          mlid: 0,
          trafficClass: 0,
          pkey: 0,
          ...('mtu' in record ? {} : { mtuCode: 0 }),
          ...('rate' in record ? {} : { rateCode: 0 }),
          packetLifeTime: 0,
          sl: 0,
          flowLabel: 0,
          hopLimit: 0,
          proxyJoin: false,
          ...record,
          mtuSelector: 'exactly',
          rateSelector: 'exactly',
          packetLifeTimeSelector: 'exactly',
          scope,
          joinState: left,
        },
      ],
    }),
  };
}

/** The SA key that makes a request trusted. */
const SA_KEY = 1n;

export function get(by: PortName, record: Fields, masking?: Masking): Asked {
  return ask('Get', by, record, masking);
}

export function trustedGet(by: PortName, record: Fields): Asked {
  return ask('Get', by, record, { smKey: SA_KEY });
}

export function getTable(by: PortName, record: Fields): Asked {
  return ask('GetTable', by, record);
}

export function trustedGetTable(by: PortName, record: Fields): Asked {
  return ask('GetTable', by, record, { smKey: SA_KEY });
}
