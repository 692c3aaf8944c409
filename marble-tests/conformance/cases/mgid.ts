import { FULL } from '../sa-mad.js';
import { BROADCAST, BROADCAST_RECORD, create, G, get, IPOIB, join, leave } from '../step.js';
import type { ConformanceCase, Fields } from '../step.js';

const V4 = 'ff12:401b:ffff::abcd';
const V6 = 'ff12:601b:ffff::abcd';

function created(mgid: string, why: string, measured?: string): ConformanceCase {
  return {
    statement: 'o15-0.1.6',
    name: `${mgid}, ${why}: created`,
    steps: [create('A', { mgid }).gives(), get('A', { mgid }).gives({ mgid })],
    ...(measured === undefined ? {} : { measured }),
  };
}

function refused(mgid: string, why: string): ConformanceCase {
  return {
    statement: 'o15-0.1.6',
    name: `${mgid}, ${why}: refused`,
    steps: [create('A', { mgid }).refused('REQ_INVALID'), get('A', { mgid }).refused('NO_RECORDS')],
  };
}

function ipoib(mgid: string, name: string, fields: Fields, accepted: boolean): ConformanceCase {
  const request = create('A', { mgid, ...IPOIB, ...fields });
  return {
    statement: 'o15-0.1.6',
    name: `${mgid} with ${name}: ${accepted ? 'created' : 'refused'}`,
    steps: [accepted ? request.gives() : request.refused('REQ_INVALID')],
  };
}

const ANY_SCOPE = 'OpenSM does not look at the scope of an MGID, reserved or not';

/** o15-0.1.6: which MGIDs a group can be created with. */
export const mgid: readonly ConformanceCase[] = [
  created(G, 'transient, link-local'),
  created('ff02:cafe::1', 'permanent'),
  created('ff15:cafe::1', 'site-local'),
  created('ff18:cafe::1', 'organization-local'),
  created('ff1e:cafe::1', 'global'),
  created('ff11:cafe::1', 'interface-local', ANY_SCOPE),
  created('ff10:cafe::1', 'of reserved scope 0', ANY_SCOPE),
  created('ff13:cafe::1', 'of unassigned scope 3', ANY_SCOPE),
  created('ff1f:cafe::1', 'of reserved scope 15', ANY_SCOPE),
  created('ff15:a01b::1', 'the signature of assigned MGIDs, not link-local'),
  created('ff12::1', 'without signature'),
  created('ff12::', 'without a group number'),
  refused('fe80::1', 'a unicast GID'),
  refused('fec0::1', 'a site-local unicast GID'),
  refused('7f12:cafe::1', 'no multicast prefix'),
  refused('::1', 'not 0 and no multicast prefix'),
  refused('ff22:cafe::1', 'flag 2 is reserved'),
  refused('ff42:cafe::1', 'flag 4 is reserved'),
  refused('ff82:cafe::1', 'flag 8 is reserved'),
  refused('fff2:cafe::1', 'all flags'),
  refused('ff12:a01b::1', 'the signature of assigned MGIDs, link-local'),
  refused('ff02:a01b::1', 'the same, permanent'),
  {
    statement: 'o15-0.1.6',
    name: 'a valid MGID whose group exists is joined, not created again',
    steps: [create('A').gives(), create('B').gives(), leave('A', FULL).leaves(0)],
  },
  ipoib(V4, 'the values of the broadcast group', {}, true),
  ipoib(V6, 'the values of the broadcast group', {}, true),
  {
    statement: 'o15-0.1.6',
    name: 'ff32:401b:ffff::abcd, reserved flags with the signature of IPoIB: created',
    measured: 'OpenSM does not look at the flags of an MGID that has an IPoIB signature',
    steps: [create('A', { mgid: 'ff32:401b:ffff::abcd', ...IPOIB }).gives()],
  },
  ipoib('ff15:401b:ffff::abcd', 'a scope that has no broadcast group', {}, false),
  ipoib('ff12:401b:8001::abcd', 'a partition that has no broadcast group', { pkey: 0x8001 }, false),
  ipoib(V4, 'another Q_Key', { qkey: 0x1234 }, false),
  ipoib(V6, 'another Q_Key', { qkey: 0x1234 }, false),
  ipoib(V4, 'another P_Key', { pkey: 0x8001 }, false),
  ipoib(V4, 'another TClass', { trafficClass: 1 }, false),
  ipoib(V4, 'another SL', { sl: 1 }, false),
  ipoib(V4, 'another FlowLabel', { flowLabel: 1 }, false),
  ipoib(V4, 'another HopLimit', { hopLimit: 1 }, false),
  ipoib(V4, 'the same P_Key as a limited member', { pkey: 0x7fff }, true),
  {
    statement: 'o15-0.1.6',
    name: `${V4} with a smaller MTU and a lower rate than the broadcast group: created`,
    measured: 'MTU and rate of the broadcast group do not matter',
    steps: [
      create('A', {
        mgid: V4,
        ...IPOIB,
        mtuSelector: 'exactly',
        mtu: 1024,
        rateSelector: 'exactly',
        rate: 5,
      }).gives({ mtu: 1024, rate: 5 }),
    ],
  },
  {
    statement: 'o15-0.1.6',
    name: `${BROADCAST}, the administrator's own: joined with three components`,
    steps: [join('A', { mgid: BROADCAST }).gives(BROADCAST_RECORD)],
  },
  {
    statement: 'o15-0.1.6',
    name: 'the broadcast MGID of another partition makes an ordinary group, and IPoIB groups need it',
    steps: [
      create('A', { mgid: 'ff12:401b:8001::ffff:ffff', ...IPOIB, pkey: 0x8001 }).gives(),
      create('A', { mgid: 'ff12:401b:8001::abcd', ...IPOIB, pkey: 0x8001 }).gives({ mlid: 0xc002 }),
      create('A', { mgid: 'ff12:601b:8001::abcd', ...IPOIB, pkey: 0x8001 }).gives({ mlid: 0xc003 }),
    ],
  },
  {
    statement: 'o15-0.1.6',
    name: 'the broadcast MGID of another scope makes an ordinary group, and IPoIB groups need it',
    steps: [
      create('A', { mgid: 'ff15:401b:ffff::ffff:ffff' }).gives(),
      create('A', { mgid: 'ff15:401b:ffff::abcd' }).gives({ mlid: 0xc002 }),
    ],
  },
];
