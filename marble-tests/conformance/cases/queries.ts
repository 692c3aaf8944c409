import { FULL, NON, SEND } from '../sa-mad.js';
import {
  ask,
  BROADCAST,
  BROADCAST_RECORD,
  create,
  elsewhere,
  G,
  G2,
  G3,
  G4,
  get,
  getTable,
  HALF_PARTITION,
  join,
  trustedGet,
  trustedGetTable,
} from '../step.js';
import type { ConformanceCase, Fields, Step } from '../step.js';

const made: Fields = {
  hopLimit: 3,
  packetLifeTime: 18,
  scope: 2,
  mtuSelector: 'exactly',
  mtu: 1024,
  rateSelector: 'exactly',
  rate: 5,
};
const group: Fields = { hopLimit: 3, packetLifeTime: 18, scope: 2, mtu: 1024, rate: 5 };
const creation = create('A', made).gives(group);

/** A Get and a GetTable by MGID and one more component, from a port that is no member. */
function compared(
  name: string,
  fields: Fields,
  matches: boolean,
  measured?: string,
): ConformanceCase {
  const wanted = { mgid: G, ...fields };
  return {
    statement: 'o15-0.1.16',
    name: `by MGID and ${name}: ${matches ? 'found' : 'not found'}`,
    steps: [
      creation,
      matches ? get('B', wanted).gives(group) : get('B', wanted).refused('NO_RECORDS'),
      getTable('B', wanted).lists(...(matches ? [group] : [])),
    ],
    ...(measured === undefined ? {} : { measured }),
  };
}

function found(name: string, steps: readonly Step[], measured?: string): ConformanceCase {
  return {
    statement: 'o15-0.1.16',
    name,
    steps,
    ...(measured === undefined ? {} : { measured }),
  };
}

const memberA: Fields = { portGid: 'A', joinState: FULL };

/** o15-0.1.16: Get and GetTable, with the SA key and without. */
export const queries: readonly ConformanceCase[] = [
  found('Get by MGID hides PortGID and JoinState', [
    create('A').gives(),
    get('A', { mgid: G }).gives({ portGid: '::', joinState: 0 }),
    get('C', { mgid: G }).gives({ portGid: '::', joinState: 0 }),
  ]),
  found('trusted Get by MGID shows the only member', [
    create('A').gives(),
    trustedGet('B', { mgid: G }).gives(memberA),
  ]),
  found(
    'trusted Get by MGID of a group with two members',
    [
      create('A').gives(),
      join('B').gives(),
      trustedGet('C', { mgid: G }).refused('TOO_MANY_RECORDS'),
    ],
    'with the key there is one record per member',
  ),
  found('Get by MGID of a group with two members', [
    create('A').gives(),
    join('B').gives(),
    get('C', { mgid: G }).gives(),
  ]),
  found('Get by MGID of no group', [
    get('A', { mgid: G }).refused('NO_RECORDS'),
    trustedGet('A', { mgid: G }).refused('NO_RECORDS'),
  ]),
  found('Get by MGID and PortGID of a member', [
    create('A').gives(),
    get('A', { mgid: G, portGid: 'A' }).gives(),
    get('B', { mgid: G, portGid: 'A' }).gives(),
    trustedGet('B', { mgid: G, portGid: 'A' }).gives(memberA),
  ]),
  found('Get by MGID and PortGID of another port', [
    create('A').gives(),
    get('A', { mgid: G, portGid: 'B' }).refused('NO_RECORDS'),
    trustedGet('A', { mgid: G, portGid: 'B' }).refused('NO_RECORDS'),
  ]),
  found(
    'Get by MGID and PortGID under another subnet prefix',
    [
      create('A').gives(),
      get('B', { mgid: G, portGid: elsewhere('A') }).gives(),
      get('B', { mgid: G, portGid: elsewhere('B') }).refused('NO_RECORDS'),
      get('B', { mgid: G, portGid: '::' }).refused('NO_RECORDS'),
    ],
    'only the GUID half of a PortGID is compared',
  ),
  found('Get by MGID, PortGID and JoinState', [
    create('A', { joinState: FULL | SEND }).gives(),
    get('A', { mgid: G, portGid: 'A', joinState: FULL | SEND }).gives(),
    get('A', { mgid: G, portGid: 'A', joinState: FULL }).refused('NO_RECORDS'),
    get('A', { mgid: G, portGid: 'A', joinState: FULL | NON | SEND }).refused('NO_RECORDS'),
  ]),
  found(
    'Get by MGID and JoinState without PortGID',
    [
      create('A', { joinState: FULL | NON }).gives(),
      join('A', { joinState: SEND }).gives({ joinState: FULL | NON | SEND }),
      get('B', { mgid: G, joinState: FULL | NON }).gives(),
      get('B', { mgid: G, joinState: FULL | NON | SEND }).refused('NO_RECORDS'),
      trustedGet('B', { mgid: G, joinState: FULL | NON | SEND }).gives({
        portGid: 'A',
        joinState: FULL | NON | SEND,
      }),
    ],
    'without the key, JoinState is compared with that of the request which created the group',
  ),
  found('trusted Get by MGID and JoinState of one of two members', [
    create('A').gives(),
    join('B', { joinState: NON }).gives(),
    trustedGet('C', { mgid: G, joinState: NON }).gives({ portGid: 'B', joinState: NON }),
  ]),
  found('Get of the broadcast group without members', [
    get('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD),
    trustedGet('A', { mgid: BROADCAST }).refused('NO_RECORDS'),
    trustedGetTable('A', { mgid: BROADCAST }).lists(),
  ]),
  found('Get with an empty mask', [
    get('A', {}).gives(BROADCAST_RECORD),
    create('A').gives(),
    get('A', {}).refused('TOO_MANY_RECORDS'),
  ]),
  compared('the Q_Key', { qkey: 0x1234 }, true),
  compared('another Q_Key', { qkey: 1 }, false),
  compared('the TClass', { trafficClass: 7 }, true),
  compared('another TClass', { trafficClass: 8 }, false),
  compared('the P_Key', { pkey: 0xffff }, true),
  compared('the P_Key of a limited member', { pkey: 0x7fff }, true),
  compared('another P_Key', { pkey: HALF_PARTITION }, false),
  compared('the SL', { sl: 2 }, true),
  compared('another SL', { sl: 0 }, false),
  compared('the FlowLabel', { flowLabel: 0xabcde }, true),
  compared('another FlowLabel', { flowLabel: 0 }, false),
  compared('the HopLimit', { hopLimit: 3 }, true),
  compared('another HopLimit', { hopLimit: 0 }, false),
  compared('the scope', { scope: 2 }, true),
  compared('another scope', { scope: 5 }, false),
  compared('the MLID', { mlid: 0xc001 }, true),
  compared('another MLID', { mlid: 0xc000 }, false),
  compared('MTU exactly 1024', { mtuSelector: 'exactly', mtu: 1024 }, true),
  compared('MTU greater than 512', { mtuSelector: 'greater-than', mtu: 512 }, true),
  compared('MTU greater than 1024', { mtuSelector: 'greater-than', mtu: 1024 }, false),
  compared('MTU less than 512', { mtuSelector: 'less-than', mtu: 512 }, false),
  compared('the largest MTU', { mtuSelector: 'largest-available', mtu: 4096 }, true),
  compared('rate less than 10, by Gb/s', { rateSelector: 'less-than', rate: 10 }, true),
  compared('rate exactly 10', { rateSelector: 'exactly', rate: 10 }, false),
  compared('rate greater than 5', { rateSelector: 'greater-than', rate: 5 }, false),
  compared(
    'another packet lifetime',
    { packetLifeTimeSelector: 'exactly', packetLifeTime: 3 },
    true,
    'packet lifetime is not compared',
  ),
  compared('ProxyJoin', { proxyJoin: true }, true, 'ProxyJoin is not compared'),
  found('codes that do not exist are refused, not compared', [
    creation,
    get('B', { mgid: G, mtuSelector: 'exactly', mtuCode: 6 }).refused('REQ_INVALID'),
    get('B', { mgid: G, rateSelector: 'exactly', rateCode: 1 }).refused('REQ_INVALID'),
    getTable('B', { mgid: G, mtuSelector: 'exactly', mtuCode: 0 }).refused('REQ_INVALID'),
  ]),
  found('GetTable of everything', [
    create('A').gives(),
    create('B', { mgid: G2 }).gives({ mlid: 0xc002 }),
    getTable('C', {}).lists(BROADCAST_RECORD, {}, { mgid: G2, mlid: 0xc002 }),
  ]),
  found('trusted GetTable of everything', [
    create('A').gives(),
    create('B', { mgid: G2 }).gives({ mlid: 0xc002 }),
    trustedGetTable('C', {}).lists(memberA, {
      mgid: G2,
      mlid: 0xc002,
      portGid: 'B',
      joinState: FULL,
    }),
  ]),
  found('trusted GetTable of one group has a record per member', [
    create('A').gives(),
    join('B', { joinState: NON }).gives(),
    join('C', { joinState: SEND }).gives(),
    trustedGetTable('A', { mgid: G }).lists(
      memberA,
      { portGid: 'B', joinState: NON },
      { portGid: 'C', joinState: SEND },
    ),
  ]),
  found('GetTable of one group has one record', [
    create('A').gives(),
    join('B').gives(),
    getTable('A', { mgid: G }).lists({}),
  ]),
  found('GetTable by PortGID has the groups of the port', [
    create('A').gives(),
    create('B', { mgid: G2 }).gives({ mlid: 0xc002 }),
    create('A', { mgid: G3 }).gives({ mlid: 0xc003 }),
    getTable('C', { portGid: 'A' }).lists({}, { mgid: G3, mlid: 0xc003 }),
    trustedGetTable('C', { portGid: 'A' }).lists(memberA, { ...memberA, mgid: G3, mlid: 0xc003 }),
    getTable('C', { portGid: 'D' }).lists(),
  ]),
  found('GetTable by Q_Key', [
    create('A', { qkey: 5 }).gives(),
    create('A', { mgid: G2, qkey: 6 }).gives({ mlid: 0xc002 }),
    getTable('B', { qkey: 6 }).lists({ mgid: G2, mlid: 0xc002, qkey: 6 }),
    getTable('B', { qkey: 7 }).lists(),
  ]),
  found(
    'GetTable of more than three records',
    [
      create('A').gives(),
      create('A', { mgid: G2 }).gives({ mlid: 0xc002 }),
      create('A', { mgid: G3 }).gives({ mlid: 0xc003 }),
      create('A', { mgid: G4 }).gives({ mlid: 0xc004 }),
      getTable('B', { qkey: 0x1234 }).lists(
        {},
        { mgid: G2, mlid: 0xc002 },
        { mgid: G3, mlid: 0xc003 },
      ),
    ],
    'the wire of the simulator carries the three records that fit one MAD, in the order of their MGIDs',
  ),
  found('a group of a partition that the asking port is not in is not seen', [
    create('A', { pkey: HALF_PARTITION }).gives(),
    get('C', { mgid: G }).refused('NO_RECORDS'),
    trustedGet('C', { mgid: G, portGid: 'A' }).refused('NO_RECORDS'),
    getTable('C', { mgid: G }).lists(),
    get('B', { mgid: G }).gives({ pkey: HALF_PARTITION }),
  ]),
  found('a wrong SA key is not answered', [
    create('A').gives(),
    get('A', { mgid: G }, { smKey: 2n }).silent(),
    get('A', { mgid: G }).gives(),
  ]),
  found(
    'GetMulti',
    [
      create('A').gives(),
      ask('GetMulti', 'A', { mgid: G }).refused('METHOD_ATTRIBUTE_UNSUPPORTED'),
    ],
    'the method is unknown for this attribute',
  ),
];
