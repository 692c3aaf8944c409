// What joinMulticast$ says on a fabric, whichever provider joins there: the records, the errors, and
// the fields they name.
import type { JoinRequest } from '../../src/contract/request.js';
import type { McMemberRecord, McMemberRecordInit } from '../../src/records/mc-member-record.js';
import { BROADCAST, CREATION, G, G2, HALF_PARTITION, IPOIB } from './step.js';
import type { PortName } from './step.js';

/** What a subscription has said first. `portGid` is the name of a port. */
export type Outcome =
  | { type: 'joined'; record: McMemberRecord }
  | { type: 'error'; code: string; saStatusName?: string; fields?: readonly string[] };

export interface ProviderStep {
  by: PortName;
  /** Known by its place among the steps of the case, for `leave`. */
  join?: Pick<JoinRequest, 'record' | 'group'>;
  /** The step whose subscription ends here, counted from 1. */
  leave?: number;
  expected?: Outcome;
}

export interface ProviderCase {
  name: string;
  steps: readonly ProviderStep[];
}

/** MGIDs that are assigned differ from run to run; only their form is compared. */
export const ASSIGNED = 'assigned';

const created: McMemberRecordInit = { mgid: G, ...CREATION };

/** The outcome of a join by a port, of a group as CREATION describes it but for `record`. */
function joined(by: PortName, record: Partial<McMemberRecord> = {}): Outcome {
  return {
    type: 'joined',
    record: {
      mgid: G,
      portGid: by,
      ...CREATION,
      mlid: 0xc001,
      mtu: 2048,
      mtuCode: 4,
      mtuSelector: 'exactly',
      rate: 10,
      rateCode: 3,
      rateSelector: 'exactly',
      packetLifeTime: 0,
      packetLifeTimeSelector: 'exactly',
      hopLimit: 0,
      scope: 0,
      joinState: ['full-member'],
      proxyJoin: false,
      ...record,
    },
  };
}

function einval(saStatusName?: string, ...fields: string[]): Outcome {
  return {
    type: 'error',
    code: 'EINVAL',
    ...(saStatusName === undefined ? {} : { saStatusName }),
    ...(fields.length === 0 ? {} : { fields }),
  };
}

/** One join by port A. */
function one(name: string, record: McMemberRecordInit, expected: Outcome): ProviderCase {
  return { name, steps: [{ by: 'A', join: { record }, expected }] };
}

/** A group that port A has created, and a join by another port, or by A again. */
function second(
  name: string,
  by: PortName,
  record: McMemberRecordInit,
  expected: Outcome,
): ProviderCase {
  return {
    name,
    steps: [
      { by: 'A', join: { record: created }, expected: joined('A') },
      { by, join: { record: { mgid: G, ...record } }, expected },
    ],
  };
}

export const PROVIDER_CASES: readonly ProviderCase[] = [
  one('creates a group', created, joined('A')),
  one(
    'creates a group with every field',
    {
      ...created,
      mtu: 1024,
      rate: 5,
      packetLifeTime: 18,
      hopLimit: 3,
      scope: 2,
      mlid: 0xc010,
      joinState: ['full-member', 'send-only-non-member'],
    },
    joined('A', {
      mtu: 1024,
      mtuCode: 3,
      rate: 5,
      rateCode: 5,
      packetLifeTime: 18,
      hopLimit: 3,
      scope: 2,
      mlid: 0xc010,
      joinState: ['full-member', 'send-only-non-member'],
    }),
  ),
  one(
    'creates a group of less than an MTU',
    { ...created, mtu: 2048, mtuSelector: 'less-than' },
    joined('A', { mtu: 1024, mtuCode: 3 }),
  ),
  one(
    'names the fields that creating a group lacks',
    { mgid: G, qkey: 1 },
    einval('INSUFFICIENT_COMPONENTS', 'trafficClass', 'pkey', 'sl', 'flowLabel'),
  ),
  one(
    'names a single field that creating a group lacks',
    { mgid: G, trafficClass: 7, pkey: 0xffff, sl: 2, flowLabel: 0 },
    einval('INSUFFICIENT_COMPONENTS', 'qkey'),
  ),
  one('is refused an MTU that the port has not', { ...created, mtu: 4096 }, einval('REQ_INVALID')),
  one('is refused a rate that the port has not', { ...created, rate: 20 }, einval('REQ_INVALID')),
  one(
    'is refused an MGID with reserved flags',
    { ...created, mgid: 'ff22:cafe::1' },
    einval('REQ_INVALID'),
  ),
  one(
    'is refused a group that would have no full member',
    { ...created, joinState: 'send-only-non-member' },
    einval('REQ_INVALID'),
  ),
  one(
    'is refused a partition that the port is not in',
    { ...created, pkey: 0x8009 },
    einval('REQ_INVALID'),
  ),
  one('has an MGID assigned', { ...created, mgid: '::' }, joined('A', { mgid: ASSIGNED })),
  one(
    'joins the broadcast group by its MGID alone',
    { mgid: BROADCAST },
    joined('A', { ...IPOIB, mgid: BROADCAST, mlid: 0xc000, packetLifeTime: 18, scope: 2 }),
  ),
  {
    name: 'joins an IP group',
    steps: [
      {
        by: 'A',
        join: { group: '239.1.2.3', record: { ...IPOIB } },
        expected: joined('A', { ...IPOIB, mgid: 'ff12:401b:ffff::f01:203' }),
      },
    ],
  },
  {
    name: 'is refused an IP group with a Q_Key that is not the broadcast group’s',
    steps: [
      {
        by: 'A',
        join: { group: '239.1.2.3', record: { ...IPOIB, qkey: 5 } },
        expected: einval('REQ_INVALID'),
      },
    ],
  },
  second('joins a group by its MGID alone', 'B', {}, joined('B')),
  second(
    'joins as a send-only member',
    'B',
    { joinState: 'send-only-non-member' },
    joined('B', { joinState: ['send-only-non-member'] }),
  ),
  second(
    'reports the state that was asked for, not those that the port has accumulated',
    'A',
    { joinState: 'non-member' },
    joined('A', { joinState: ['non-member'] }),
  ),
  second('names the field that differs', 'B', { qkey: 7 }, einval('REQ_INVALID', 'qkey')),
  second(
    'names every field that differs',
    'B',
    { ...CREATION, qkey: 7, sl: 1, hopLimit: 9 },
    einval('REQ_INVALID', 'qkey', 'sl', 'hopLimit'),
  ),
  second('names the MTU that differs', 'B', { mtu: 512 }, einval('REQ_INVALID', 'mtu')),
  second(
    'names a rate that the group does not exceed',
    'B',
    { rate: 10, rateSelector: 'greater-than' },
    einval('REQ_INVALID', 'rate'),
  ),
  second(
    'names the partition that differs',
    'B',
    { pkey: HALF_PARTITION },
    einval('REQ_INVALID', 'pkey'),
  ),
  second(
    'decides a difference on the same port by itself',
    'A',
    { qkey: 7 },
    einval(undefined, 'qkey'),
  ),
  {
    name: 'is refused a group of a partition that the port is not in',
    steps: [
      {
        by: 'A',
        join: { record: { ...created, pkey: HALF_PARTITION } },
        expected: joined('A', { pkey: HALF_PARTITION }),
      },
      { by: 'C', join: { record: { mgid: G } }, expected: einval('REQ_INVALID') },
      {
        by: 'B',
        join: { record: { mgid: G } },
        expected: joined('B', { pkey: HALF_PARTITION }),
      },
    ],
  },
  {
    name: 'takes the group away with its last full member',
    steps: [
      { by: 'A', join: { record: created }, expected: joined('A') },
      {
        by: 'B',
        join: { record: { mgid: G, joinState: 'non-member' } },
        expected: joined('B', { joinState: ['non-member'] }),
      },
      { by: 'A', leave: 1 },
      {
        by: 'C',
        join: { record: { mgid: G } },
        expected: einval(
          'INSUFFICIENT_COMPONENTS',
          'qkey',
          'trafficClass',
          'pkey',
          'sl',
          'flowLabel',
        ),
      },
    ],
  },
  {
    name: 'leaves no more than its own bits',
    steps: [
      { by: 'A', join: { record: created }, expected: joined('A') },
      {
        by: 'A',
        join: { record: { mgid: G, joinState: 'non-member' } },
        expected: joined('A', { joinState: ['non-member'] }),
      },
      { by: 'A', leave: 2 },
      {
        by: 'A',
        join: { record: { mgid: G, joinState: 'send-only-non-member' } },
        expected: joined('A', { joinState: ['send-only-non-member'] }),
      },
    ],
  },
  {
    name: 'gives the MLID of a group that is gone to the next',
    steps: [
      { by: 'A', join: { record: created }, expected: joined('A') },
      { by: 'A', leave: 1 },
      { by: 'B', join: { record: { ...created, mgid: G2 } }, expected: joined('B', { mgid: G2 }) },
    ],
  },
];
