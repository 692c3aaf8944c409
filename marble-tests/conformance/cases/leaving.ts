import { FULL, NON, SEND, SEND_FULL } from '../sa-mad.js';
import {
  BROADCAST,
  BROADCAST_RECORD,
  create,
  G,
  get,
  HALF_PARTITION,
  join,
  leave,
  trustedGet,
  elsewhere,
} from '../step.js';
import type { ConformanceCase } from '../step.js';

const gone = get('A', { mgid: G }).refused('NO_RECORDS');
const there = get('A', { mgid: G }).gives();

/** o15-0.1.12, o15-0.1.14 and o15-0.1.15: how memberships and groups end. */
export const leaving: readonly ConformanceCase[] = [
  {
    statement: 'o15-0.1.12',
    name: 'the only member leaves',
    steps: [create('A').gives(), leave('A', FULL).leaves(0), gone],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the last full member leaves a non-member behind',
    steps: [
      create('A').gives(),
      join('B', { joinState: NON }).gives(),
      leave('A', FULL).leaves(0),
      gone,
      leave('B', NON).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the last full member leaves a send-only non-member behind',
    steps: [
      create('A').gives(),
      join('B', { joinState: SEND }).gives(),
      leave('A', FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the last full member leaves several others behind, and the MLID is free',
    steps: [
      create('A').gives(),
      join('B', { joinState: SEND }).gives(),
      join('C', { joinState: NON }).gives(),
      leave('A', FULL).leaves(0),
      gone,
      create('C', { qkey: 5 }).gives({ mlid: 0xc001 }),
      trustedGet('A', { mgid: G, portGid: 'B' }).refused('NO_RECORDS'),
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'a send-only full member keeps the group',
    steps: [
      create('A').gives(),
      join('B', { joinState: SEND_FULL }).gives(),
      leave('A', FULL).leaves(0),
      there,
      leave('B', SEND_FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'two full members: the first to go leaves the group',
    steps: [
      create('A').gives(),
      join('B').gives(),
      leave('A', FULL).leaves(0),
      there,
      leave('B', FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the creator gone, others keep its group as it was',
    steps: [
      create('A', { qkey: 9 }).gives(),
      join('B').gives({ qkey: 9 }),
      leave('A', FULL).leaves(0),
      join('C').gives({ qkey: 9 }),
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the only full member keeps non-membership',
    measured: 'with its last full bit the port is out altogether, and JoinState 0 is answered',
    steps: [create('A', { joinState: FULL | NON }).gives(), leave('A', FULL).leaves(0), gone],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the only full member keeps send-only non-membership',
    measured: 'with its last full bit the port is out altogether, and JoinState 0 is answered',
    steps: [create('A', { joinState: FULL | SEND }).gives(), leave('A', FULL).leaves(0), gone],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the only send-only full member keeps non-membership',
    measured: 'the answer has the bits that were to be kept, but the group is gone',
    steps: [
      create('A', { joinState: SEND_FULL | NON }).gives(),
      leave('A', SEND_FULL).leaves(NON),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'one of two full members keeps non-membership',
    steps: [
      create('A', { joinState: FULL | NON }).gives(),
      join('B').gives(),
      leave('A', FULL).leaves(NON),
      leave('B', FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'both full bits given up at once leave nothing',
    steps: [
      create('A', { joinState: FULL | SEND_FULL }).gives(),
      leave('A', FULL | SEND_FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'both full bits given up, send-only first, leave nothing',
    steps: [
      create('A', { joinState: FULL | SEND_FULL }).gives(),
      leave('A', SEND_FULL).leaves(FULL),
      there,
      leave('A', FULL).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the last member of the broadcast group leaves, and the group stays',
    steps: [
      join('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
      leave('A', FULL, { mgid: BROADCAST }).leaves(0, 2),
      get('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
      join('B', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
    ],
  },
  {
    statement: 'o15-0.1.12',
    name: 'the last full member of the broadcast group puts all others out',
    steps: [
      join('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
      join('B', { mgid: BROADCAST, joinState: NON }).gives(BROADCAST_RECORD),
      leave('A', FULL, { mgid: BROADCAST }).leaves(0, 2),
      trustedGet('A', { mgid: BROADCAST, portGid: 'B' }).refused('NO_RECORDS'),
    ],
  },

  {
    statement: 'o15-0.1.14',
    name: 'part of the bits',
    steps: [
      create('A', { joinState: FULL | NON | SEND }).gives(),
      leave('A', NON).leaves(FULL | SEND),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL | SEND }),
      leave('A', SEND).leaves(FULL),
      there,
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'all of several bits',
    steps: [
      create('A', { joinState: FULL | NON | SEND }).gives(),
      leave('A', FULL | NON | SEND).leaves(0),
      gone,
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'all bits of a port that does not keep the group',
    steps: [
      create('A').gives(),
      join('B', { joinState: NON | SEND }).gives(),
      leave('B', NON | SEND).leaves(0),
      trustedGet('A', { mgid: G, portGid: 'B' }).refused('NO_RECORDS'),
      there,
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'by a port that is no member',
    steps: [create('A').gives(), leave('B', FULL).refused('REQ_INVALID'), there],
  },
  {
    statement: 'o15-0.1.14',
    name: 'by a port that was one',
    steps: [
      create('A').gives(),
      join('B').gives(),
      leave('B', FULL).leaves(0),
      leave('B', FULL).refused('REQ_INVALID'),
    ],
  },
  ...[NON, SEND, SEND_FULL].map((joinState): ConformanceCase => ({
    statement: 'o15-0.1.14',
    name: `bit ${String(joinState)}, which is not held`,
    steps: [create('A').gives(), leave('A', joinState).refused('REQ_INVALID'), there],
  })),
  {
    statement: 'o15-0.1.14',
    name: 'bits of which one is held',
    steps: [
      create('A').gives(),
      leave('A', FULL | NON).refused('REQ_INVALID'),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL }),
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'with JoinState 0',
    steps: [create('A').gives(), leave('A', 0).refused('REQ_INVALID'), there],
  },
  ...(['mgid', 'portGid', 'joinState'] as const).map((field): ConformanceCase => ({
    statement: 'o15-0.1.14',
    name: `without ${field} in the mask`,
    steps: [
      create('A').gives(),
      leave('A', FULL, {}, { unmasked: [field] }).refused('INSUFFICIENT_COMPONENTS'),
      there,
    ],
  })),
  {
    statement: 'o15-0.1.14',
    name: 'with other components, which are not compared',
    measured:
      'the answer has the components of the request, selectors "exactly", the group’s scope',
    steps: [
      create('A', { scope: 6 }).gives(),
      leave('A', FULL, {
        qkey: 7,
        sl: 9,
        hopLimit: 3,
        scope: 4,
        mtuSelector: 'less-than',
        mtu: 1024,
      }).leaves(0, 6),
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'with an MTU that does not exist',
    steps: [
      create('A').gives(),
      leave('A', FULL, { mtuSelector: 'exactly', mtuCode: 6 }).refused('REQ_INVALID'),
      there,
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'on behalf of another port',
    steps: [
      create('A').gives(),
      join('B').gives(),
      leave('B', FULL, { portGid: 'A' }).refused('REQ_INVALID'),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL }),
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'of a membership made on behalf of the port, from outside the partition',
    steps: [
      create('A', { portGid: 'B', pkey: HALF_PARTITION }).gives(),
      leave('C', FULL, { portGid: 'B' }).refused('REQ_INVALID'),
      leave('A', FULL, { portGid: 'B' }).leaves(0),
    ],
  },
  {
    statement: 'o15-0.1.14',
    name: 'with a PortGID of another subnet prefix',
    steps: [
      create('A').gives(),
      leave('A', FULL, { portGid: elsewhere('A') }).refused('REQ_INVALID_GID'),
      there,
    ],
  },

  {
    statement: 'o15-0.1.15',
    name: 'of a group that is not there',
    steps: [leave('A', FULL).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of a group that was there',
    steps: [
      create('A').gives(),
      leave('A', FULL).leaves(0),
      leave('A', FULL).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of a group that is not there, with every component',
    steps: [
      leave('A', FULL, {
        qkey: 0x1234,
        pkey: 0xffff,
        sl: 0,
        flowLabel: 0,
        trafficClass: 0,
      }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of an MGID that could not be created',
    steps: [leave('A', FULL, { mgid: 'fe80::1' }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of a port that is not there',
    steps: [
      create('A').gives(),
      leave('A', FULL, { portGid: 'fe80::dead:beef' }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of the broadcast group by a port that is no member',
    steps: [
      leave('A', FULL, { mgid: BROADCAST }).refused('REQ_INVALID'),
      get('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
    ],
  },
  {
    statement: 'o15-0.1.15',
    name: 'of the broadcast group by the subnet manager’s port, which is no member',
    steps: [leave('A', FULL, { mgid: BROADCAST, portGid: 'Sm' }).refused('REQ_INVALID')],
  },
];

/** Groups that OpenSM keeps for good, so these come last: they take an MLID each. */
export const pinning: readonly ConformanceCase[] = [
  {
    statement: 'o15-0.1.12',
    name: 'the only member gives up full and keeps send-only full membership',
    measured:
      'the port is out, and the group stays without members until the subnet manager restarts; it can be joined without creation components',
    pinned: ['ff12:cafe::9'],
    steps: [
      create('A', { mgid: 'ff12:cafe::9', joinState: FULL | SEND_FULL }).gives(),
      leave('A', FULL, { mgid: 'ff12:cafe::9' }).leaves(0),
      get('A', { mgid: 'ff12:cafe::9' }).gives({ mgid: 'ff12:cafe::9' }),
      trustedGet('A', { mgid: 'ff12:cafe::9', portGid: 'A' }).refused('NO_RECORDS'),
      join('B', { mgid: 'ff12:cafe::9', joinState: NON }).gives(),
    ],
  },
];
