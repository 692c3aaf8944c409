import { FULL } from '../sa-mad.js';
import { BROADCAST, BROADCAST_RECORD, create, G2, get, HALF_PARTITION, leave } from '../step.js';
import type { ConformanceCase, Fields } from '../step.js';

/** Created with a value, and found with it. */
function keeps(name: string, fields: Fields, answered: Fields = fields): ConformanceCase {
  return {
    statement: 'o15-0.1.7',
    name: `${name} as asked`,
    steps: [
      create('A', fields).gives(answered),
      get('A', { mgid: 'ff12:cafe::1' }).gives({
        ...answered,
        proxyJoin: answered.proxyJoin ?? false,
      }),
    ],
  };
}

const TAKEN_UNMASKED = 'taken from the record whether its bit is set or not';

/** o15-0.1.7: what a created group has. */
export const attributes: readonly ConformanceCase[] = [
  keeps('Q_Key 0', { qkey: 0 }),
  keeps('Q_Key 0xffffffff', { qkey: 0xffffffff }),
  keeps('TClass 255', { trafficClass: 255 }),
  keeps('SL 15', { sl: 15 }),
  keeps('FlowLabel 0xfffff', { flowLabel: 0xfffff }),
  keeps('HopLimit 255', { hopLimit: 255 }),
  keeps(
    'packet lifetime 63',
    { packetLifeTimeSelector: 'exactly', packetLifeTime: 63 },
    { packetLifeTime: 63 },
  ),
  keeps('scope 15', { scope: 15 }),
  keeps('P_Key of another partition', { pkey: HALF_PARTITION }),
  keeps('P_Key of a limited member', { pkey: 0x7fff }),
  keeps('ProxyJoin', { proxyJoin: true }),
  keeps('MTU 1024', { mtuSelector: 'exactly', mtu: 1024 }, { mtu: 1024 }),
  keeps('rate 2.5', { rateSelector: 'exactly', rate: 2.5 }, { rate: 2.5 }),
  {
    statement: 'o15-0.1.7',
    name: 'defaults: MTU and rate of the port, all else 0',
    steps: [
      create('A').gives({ mtu: 2048, rate: 10, packetLifeTime: 0, hopLimit: 0, scope: 0 }),
      get('B', { mgid: 'ff12:cafe::1' }).gives({ mtu: 2048, rate: 10 }),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'the default rate is that of the port which creates',
    steps: [create('D').gives({ rate: 2.5 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'the record scope is not taken from the MGID',
    measured: 'the scope in the record is 0 unless the request has one',
    steps: [create('A', { mgid: 'ff15:cafe::1' }).gives({ scope: 0 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'hop limit without its bit',
    measured: TAKEN_UNMASKED,
    steps: [create('A', { hopLimit: 9 }, { unmasked: ['hopLimit'] }).gives({ hopLimit: 9 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'packet lifetime without its bit',
    measured: TAKEN_UNMASKED,
    steps: [
      create('A', { packetLifeTime: 9 }, { unmasked: ['packetLifeTime'] }).gives({
        packetLifeTime: 9,
      }),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'scope without its bit',
    measured: TAKEN_UNMASKED,
    steps: [create('A', { scope: 9 }, { unmasked: ['scope'] }).gives({ scope: 9 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'MTU without its bit is the port’s',
    steps: [
      create(
        'A',
        { mtuSelector: 'exactly', mtu: 256 },
        { unmasked: ['mtu', 'mtuSelector'] },
      ).gives(),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'rate without its bit is the port’s',
    steps: [
      create(
        'A',
        { rateSelector: 'exactly', rate: 5 },
        { unmasked: ['rate', 'rateSelector'] },
      ).gives(),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'an MLID that is free, asked for',
    measured: 'a client may choose; the specification leaves MLIDs to the administrator',
    steps: [create('A', { mlid: 0xc010 }).gives({ mlid: 0xc010 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'an MLID that is free, without its bit',
    measured: TAKEN_UNMASKED,
    steps: [create('A', { mlid: 0xc010 }, { unmasked: ['mlid'] }).gives({ mlid: 0xc010 })],
  },
  {
    statement: 'o15-0.1.7',
    name: 'an MLID that is taken: the lowest free one',
    steps: [
      create('A').gives({ mlid: 0xc001 }),
      create('A', { mgid: G2, mlid: 0xc001 }).gives({ mlid: 0xc002 }),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'an MLID out of the pool, or none: the lowest free one',
    steps: [
      create('A', { mlid: 0xbfff }).gives({ mlid: 0xc001 }),
      create('A', { mgid: G2, mlid: 0xfff0 }).gives({ mlid: 0xc002 }),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'a freed MLID is given again at once',
    steps: [
      create('A').gives({ mlid: 0xc001 }),
      create('A', { mgid: G2 }).gives({ mlid: 0xc002 }),
      leave('A', FULL).leaves(0),
      create('A', { mgid: 'ff12:cafe::3' }).gives({ mlid: 0xc001 }),
    ],
  },
  {
    statement: 'o15-0.1.7',
    name: 'the broadcast group of the default partition',
    steps: [get('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD)],
  },
];
