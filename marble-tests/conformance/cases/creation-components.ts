import type { McMemberField } from '../../../src/records/component-mask.js';
import { FULL, NON, SEND } from '../sa-mad.js';
import { create, G, join } from '../step.js';
import type { ConformanceCase } from '../step.js';

const REQUIRED = ['qkey', 'trafficClass', 'pkey', 'sl', 'flowLabel'] as const;
const IDENTITY = ['mgid', 'portGid', 'joinState'] as const;

const combinations = REQUIRED.flatMap((first, index) =>
  REQUIRED.slice(index + 1).map((second): McMemberField[] => [first, second]),
);

function lacking(unmasked: readonly McMemberField[], mgid = G): ConformanceCase {
  return {
    statement: 'o15-0.1.3',
    name: `creation of ${mgid} without ${unmasked.join(', ')} in the mask`,
    steps: [create('A', { mgid }, { unmasked }).refused('INSUFFICIENT_COMPONENTS')],
  };
}

/** o15-0.1.3: what a Set has to carry in its mask. */
export const creationComponents: readonly ConformanceCase[] = [
  ...[...REQUIRED, ...IDENTITY].map((field) => lacking([field])),
  ...combinations.map((fields) => lacking(fields)),
  lacking(['qkey', 'trafficClass', 'pkey']),
  lacking(['pkey', 'sl', 'flowLabel']),
  lacking(REQUIRED),
  lacking([...REQUIRED, ...IDENTITY]),
  lacking(['mgid', 'joinState']),
  ...REQUIRED.map((field) => lacking([field], '::')),
  {
    statement: 'o15-0.1.3',
    name: 'join of an absent group by MGID, PortGID and JoinState',
    steps: [join('A').refused('INSUFFICIENT_COMPONENTS')],
  },
  {
    statement: 'o15-0.1.3',
    name: 'creation with the required components and no other',
    steps: [create('A').gives()],
  },
  {
    statement: 'o15-0.1.3',
    name: 'MTU, rate, lifetime, hop limit, scope, MLID and ProxyJoin do not stand in for a Q_Key',
    steps: [
      create(
        'A',
        {
          mtuSelector: 'exactly',
          mtu: 2048,
          rateSelector: 'exactly',
          rate: 10,
          packetLifeTimeSelector: 'exactly',
          packetLifeTime: 18,
          hopLimit: 1,
          scope: 2,
          mlid: 0xc005,
          proxyJoin: false,
        },
        { unmasked: ['qkey'] },
      ).refused('INSUFFICIENT_COMPONENTS'),
    ],
  },
  {
    statement: 'o15-0.1.3',
    name: 'a refused creation leaves nothing: the next one gets the same MLID',
    steps: [
      create('A', {}, { unmasked: ['sl'] }).refused('INSUFFICIENT_COMPONENTS'),
      create('A').gives({ mlid: 0xc001 }),
    ],
  },
  ...IDENTITY.map((field): ConformanceCase => ({
    statement: 'o15-0.1.3',
    name: `join of an existing group without ${field} in the mask`,
    steps: [
      create('A').gives(),
      join('B', {}, { unmasked: [field] }).refused('INSUFFICIENT_COMPONENTS'),
    ],
  })),
  {
    statement: 'o15-0.1.3',
    name: 'join of an existing group needs no more than MGID, PortGID and JoinState',
    steps: [create('A').gives(), join('B').gives()],
  },
  {
    statement: 'o15-0.1.3',
    name: 'with a P_Key of no partition, components that are missing are not what is refused',
    measured: 'such a P_Key is looked at first, one that the port has not afterwards',
    steps: [
      join('A', { pkey: 0 }).refused('REQ_INVALID'),
      join('A', { pkey: 0x8000 }).refused('REQ_INVALID'),
      join('A', { pkey: 0x8009 }).refused('INSUFFICIENT_COMPONENTS'),
      join('C', { pkey: 0x8001 }).refused('INSUFFICIENT_COMPONENTS'),
    ],
  },
  {
    statement: 'o15-0.1.3',
    name: 'without a full-member bit, components that are missing are not what is refused',
    measured: 'JoinState is looked at first: REQ_INVALID instead of INSUFFICIENT_COMPONENTS',
    steps: [
      join('A', { joinState: NON }).refused('REQ_INVALID'),
      join('A', { joinState: SEND }).refused('REQ_INVALID'),
      create('A', { joinState: SEND }, { unmasked: ['qkey', 'pkey'] }).refused('REQ_INVALID'),
      create('A', { joinState: FULL }, { unmasked: ['qkey', 'pkey'] }).refused(
        'INSUFFICIENT_COMPONENTS',
      ),
    ],
  },
];
