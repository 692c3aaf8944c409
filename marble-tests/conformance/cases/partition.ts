import { FULL, NON, SEND } from '../sa-mad.js';
import {
  BROADCAST,
  BROADCAST_RECORD,
  create,
  G,
  HALF_PARTITION,
  join,
  leave,
  trustedGet,
  elsewhere,
} from '../step.js';
import type { ConformanceCase } from '../step.js';

const half = { pkey: HALF_PARTITION };
const created = create('A', half).gives();

/** o15-0.1.10: which ports can join. */
export const partition: readonly ConformanceCase[] = [
  {
    statement: 'o15-0.1.10',
    name: 'creation in a partition that the port is not in',
    steps: [create('C', half).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'creation in a partition that does not exist',
    steps: [create('A', { pkey: 0x8009 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'creation with P_Key 0',
    steps: [create('A', { pkey: 0 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'creation with P_Key 0x8000',
    steps: [create('A', { pkey: 0x8000 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'P_Key 0 without its bit is not looked at',
    steps: [
      create('A', { pkey: 0 }, { unmasked: ['pkey'] }).refused('INSUFFICIENT_COMPONENTS'),
      create('A').gives(),
      join('B', { pkey: 0 }, { unmasked: ['pkey'] }).gives({ pkey: 0xffff }),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'creation by a limited member of the partition',
    measured: 'the membership bit of the port’s own table is not looked at',
    steps: [create('B', half).gives()],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a full member of the partition',
    steps: [create('B', half).gives(), join('A').gives(half)],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a limited member of the partition',
    steps: [created, join('B').gives(half)],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a limited member, the P_Key in the mask as the group has it',
    steps: [created, join('B', half).gives(half)],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a limited member, the P_Key in the mask as the port has it',
    steps: [created, join('B', { pkey: 0x0001 }).gives(half)],
  },
  {
    statement: 'o15-0.1.10',
    name: 'limited P_Keys do not match each other, even when they are equal',
    steps: [
      create('A', { pkey: 0x0001 }).gives(),
      join('B', { pkey: 0x0001 }).refused('REQ_INVALID'),
      join('B', { pkey: 0x8001 }).gives({ pkey: 0x0001 }),
    ],
  },
  ...[FULL, NON, SEND].map((joinState): ConformanceCase => ({
    statement: 'o15-0.1.10',
    name: `join by a port outside the partition, JoinState ${String(joinState)}`,
    steps: [created, join('C', { joinState }).refused('REQ_INVALID')],
  })),
  {
    statement: 'o15-0.1.10',
    name: 'join by a port outside the partition, with the P_Key in the mask',
    steps: [created, join('C', half).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'a port outside the partition that was refused is no member',
    steps: [
      created,
      join('C').refused('REQ_INVALID'),
      trustedGet('A', { mgid: G, portGid: 'C' }).refused('NO_RECORDS'),
      leave('C', FULL).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a port that cannot do the rate of the group',
    steps: [create('A').gives(), join('D').refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join of the broadcast group by a port that cannot do its rate',
    steps: [
      join('D', { mgid: BROADCAST }).refused('REQ_INVALID'),
      join('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a slow port where the group is as slow',
    steps: [create('D').gives({ rate: 2.5 }), join('A').gives({ rate: 2.5 })],
  },
  {
    statement: 'o15-0.1.10',
    name: 'join by a slow port of a group that was created for it',
    steps: [
      create('A', { rateSelector: 'exactly', rate: 2.5 }).gives({ rate: 2.5 }),
      join('D', { joinState: NON }).gives({ rate: 2.5 }),
      join('D', { rateSelector: 'greater-than', rate: 2.5 }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'the PortGID has another subnet prefix',
    steps: [
      create('A', { portGid: elsewhere('A') }).refused('REQ_INVALID_GID'),
      create('A', { portGid: '::' }).refused('REQ_INVALID_GID'),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'the PortGID is of no port',
    steps: [create('A', { portGid: 'fe80::dead:beef' }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'on behalf of another port, which is then a member',
    steps: [
      create('A', { portGid: 'B' }).gives(),
      trustedGet('C', { mgid: G, portGid: 'B' }).gives({ portGid: 'B', joinState: FULL }),
      join('C', { joinState: NON }).gives(),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'on behalf of a port outside the partition',
    steps: [create('A', { portGid: 'C', ...half }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.10',
    name: 'on behalf of a port in a partition that the asking port is not in',
    measured: 'only the port that joins has to be in the partition of the group',
    steps: [create('C', { portGid: 'A', ...half }).gives()],
  },
  {
    statement: 'o15-0.1.10',
    name: 'a port’s own membership is changed by nobody else',
    steps: [
      create('A').gives(),
      join('B', { portGid: 'A', joinState: NON }).refused('REQ_INVALID'),
      leave('B', FULL, { portGid: 'A' }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.10',
    name: 'a membership made on behalf of a port is changed by anyone in the partition',
    steps: [
      create('A', { portGid: 'B' }).gives(),
      join('C', { portGid: 'B', joinState: NON }).gives({ joinState: FULL | NON }),
      leave('D', NON, { portGid: 'B' }).leaves(FULL),
      leave('B', FULL).leaves(0),
    ],
  },
];
