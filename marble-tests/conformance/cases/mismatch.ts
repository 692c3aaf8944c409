import { FULL } from '../sa-mad.js';
import { create, G, HALF_PARTITION, join, leave } from '../step.js';
import type { ConformanceCase, Fields, PortName } from '../step.js';

/** What a group of 1024 bytes and 5 Gb/s, hop limit 3, lifetime 18 and scope 2, is created with. */
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

function differs(name: string, fields: Fields, by: PortName = 'B'): ConformanceCase {
  return {
    statement: 'o15-0.1.13',
    name: `${name}${by === 'A' ? ', by a member' : ''}: refused`,
    steps: [creation, join(by, fields).refused('REQ_INVALID'), join('C').gives(group)],
  };
}

function fits(
  name: string,
  fields: Fields,
  measured?: string,
  answered: Fields = {},
): ConformanceCase {
  return {
    statement: 'o15-0.1.13',
    name: `${name}: joined`,
    steps: [creation, join('B', fields).gives({ ...group, ...answered })],
    ...(measured === undefined ? {} : { measured }),
  };
}

const NOT_COMPARED = 'not compared for joins; the values of the group come back';

/** o15-0.1.13: joins of an existing group with components that differ from its own. */
export const mismatch: readonly ConformanceCase[] = [
  differs('another Q_Key', { qkey: 0x1235 }),
  differs('another TClass', { trafficClass: 8 }),
  differs('another SL', { sl: 3 }),
  differs('another FlowLabel', { flowLabel: 1 }),
  differs('another HopLimit', { hopLimit: 4 }),
  differs('another P_Key of the port’s', { pkey: HALF_PARTITION }),
  differs('a P_Key that the port has not', { pkey: 0x8009 }),
  differs('another Q_Key', { qkey: 0x1235 }, 'A'),
  differs('another TClass', { trafficClass: 8 }, 'A'),
  differs('another HopLimit', { hopLimit: 4 }, 'A'),
  differs('all of them', { qkey: 1, trafficClass: 8, sl: 3, flowLabel: 1, hopLimit: 4 }),
  differs('one of many', { qkey: 0x1234, trafficClass: 7, sl: 2, flowLabel: 0xabcdf, hopLimit: 3 }),
  differs('MTU exactly 2048', { mtuSelector: 'exactly', mtu: 2048 }),
  differs('MTU exactly 512', { mtuSelector: 'exactly', mtu: 512 }),
  differs('MTU greater than 1024', { mtuSelector: 'greater-than', mtu: 1024 }),
  differs('MTU greater than 2048', { mtuSelector: 'greater-than', mtu: 2048 }),
  differs('MTU less than 1024', { mtuSelector: 'less-than', mtu: 1024 }),
  differs('MTU less than 512', { mtuSelector: 'less-than', mtu: 512 }),
  differs('MTU code 6', { mtuSelector: 'less-than', mtuCode: 6 }),
  differs('rate exactly 10', { rateSelector: 'exactly', rate: 10 }),
  differs('rate exactly 2.5', { rateSelector: 'exactly', rate: 2.5 }),
  differs('rate greater than 5', { rateSelector: 'greater-than', rate: 5 }),
  differs('rate greater than 10, whose code is below that of 5', {
    rateSelector: 'greater-than',
    rate: 10,
  }),
  differs('rate less than 5', { rateSelector: 'less-than', rate: 5 }),
  differs('rate less than 2.5', { rateSelector: 'less-than', rate: 2.5 }),
  differs('rate code 1', { rateSelector: 'greater-than', rateCode: 1 }),
  differs('"exactly" without an MTU', { mtuSelector: 'exactly' }),
  differs('"less than" without a rate', { rateSelector: 'less-than' }),
  fits('every component as the group has it', {
    qkey: 0x1234,
    trafficClass: 7,
    pkey: 0xffff,
    sl: 2,
    flowLabel: 0xabcde,
    ...made,
    packetLifeTimeSelector: 'exactly',
  }),
  fits('the P_Key of a limited member', { pkey: 0x7fff }, undefined, { pkey: 0xffff }),
  fits('MTU exactly 1024', { mtuSelector: 'exactly', mtu: 1024 }),
  fits('MTU greater than 512', { mtuSelector: 'greater-than', mtu: 512 }),
  fits('MTU less than 2048', { mtuSelector: 'less-than', mtu: 2048 }),
  fits('the largest MTU', { mtuSelector: 'largest-available', mtu: 4096 }),
  fits('rate exactly 5', { rateSelector: 'exactly', rate: 5 }),
  fits('rate greater than 2.5', { rateSelector: 'greater-than', rate: 2.5 }),
  fits('rate less than 10', { rateSelector: 'less-than', rate: 10 }),
  fits('the largest rate', { rateSelector: 'largest-available', rate: 2.5 }),
  fits('another MTU without a selector', { mtu: 256 }, 'a value without its selector is ignored'),
  fits('another rate without a selector', { rate: 40 }, 'a value without its selector is ignored'),
  fits('another scope', { scope: 5 }, NOT_COMPARED, { scope: 2 }),
  fits('another MLID', { mlid: 0xc015 }, NOT_COMPARED),
  fits(
    'another packet lifetime',
    { packetLifeTimeSelector: 'exactly', packetLifeTime: 3 },
    NOT_COMPARED,
    {
      packetLifeTime: 18,
    },
  ),
  fits(
    'an impossible packet lifetime',
    { packetLifeTimeSelector: 'less-than', packetLifeTime: 0 },
    NOT_COMPARED,
    {
      packetLifeTime: 18,
    },
  ),
  fits('ProxyJoin', { proxyJoin: true }, 'ProxyJoin comes back as sent'),
  {
    statement: 'o15-0.1.13',
    name: 'components that are not in the mask may differ',
    steps: [
      creation,
      create(
        'B',
        { qkey: 1, trafficClass: 1, pkey: 0x8001, sl: 1, flowLabel: 1, hopLimit: 1 },
        { unmasked: ['qkey', 'trafficClass', 'pkey', 'sl', 'flowLabel', 'hopLimit'] },
      ).gives({ ...group, qkey: 0x1234, trafficClass: 7, pkey: 0xffff, sl: 2, flowLabel: 0xabcde }),
    ],
  },
  {
    statement: 'o15-0.1.13',
    name: 'after the group is gone its values bind nobody',
    steps: [
      creation,
      create('B', { qkey: 1, mgid: G }).refused('REQ_INVALID'),
      leave('A', FULL).leaves(0, 2),
      create('B', { qkey: 1, mgid: G }).gives(),
    ],
  },
];
