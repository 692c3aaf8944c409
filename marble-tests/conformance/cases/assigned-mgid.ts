import { FULL, NON, SEND, SEND_FULL } from '../sa-mad.js';
import { assigned, create, get, join, leave, trustedGet } from '../step.js';
import type { ConformanceCase, Fields, Step } from '../step.js';

const SCOPES = [0, 1, 3, 5, 8, 0xe, 0xf];

/** A creation with MGID 0, the nth of its case. */
function request(n: number, fields: Fields = {}, answered: Fields = {}): Step {
  return create('A', { mgid: '::', ...fields }).gives({ mgid: assigned(n), ...answered });
}

/** o15-0.1.4 and o15-0.1.5: the administrator assigns the MGID. `assigned` holds it to its form. */
export const assignedMgid: readonly ConformanceCase[] = [
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 with the creation components',
    steps: [request(1)],
  },
  {
    statement: 'o15-0.1.4',
    name: 'two identical requests make two groups',
    steps: [request(1), request(2, {}, { mlid: 0xc002 })],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 for a send-only full member',
    steps: [request(1, { joinState: SEND_FULL })],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 without a full-member bit',
    steps: [
      create('A', { mgid: '::', joinState: NON }).refused('REQ_INVALID'),
      create('A', { mgid: '::', joinState: SEND }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 with JoinState 0',
    steps: [create('A', { mgid: '::', joinState: 0 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 with MGID, PortGID and JoinState alone',
    steps: [join('A', { mgid: '::' }).refused('INSUFFICIENT_COMPONENTS')],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 with an MTU that the port has not',
    steps: [create('A', { mgid: '::', mtuSelector: 'exactly', mtu: 4096 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 with a P_Key that the port has not',
    steps: [create('C', { mgid: '::', pkey: 0x8001 }).refused('REQ_INVALID')],
  },
  {
    statement: 'o15-0.1.4',
    name: 'MGID 0 is no group that could be left or found',
    steps: [
      request(1),
      leave('A', FULL, { mgid: '::' }).refused('REQ_INVALID'),
      get('A', { mgid: '::' }).refused('NO_RECORDS'),
    ],
  },
  ...SCOPES.map((scope): ConformanceCase => ({
    statement: 'o15-0.1.5',
    name: `the assigned MGID is of the scope asked for, ${String(scope)}`,
    steps: [request(1, { scope })],
  })),
  {
    statement: 'o15-0.1.5',
    name: 'the assigned MGID is of link-local scope where none is asked for',
    measured: 'the record keeps the scope that stands in it, the MGID does not have it',
    steps: [
      create('A', { mgid: '::', scope: 5 }, { unmasked: ['scope'] }).gives({
        mgid: assigned(1),
        scope: 5,
      }),
    ],
  },
  {
    statement: 'o15-0.1.5',
    name: 'the assigned MGID is one that others can join, and leave',
    steps: [
      request(1),
      join('B', { mgid: assigned(1) }).gives(),
      leave('A', FULL, { mgid: assigned(1) }).leaves(0),
      trustedGet('A', { mgid: assigned(1) }).gives({
        mgid: assigned(1),
        portGid: 'B',
        joinState: FULL,
      }),
    ],
  },
  {
    statement: 'o15-0.1.5',
    name: 'the assigned MGID is unused, also after an earlier one has become free',
    steps: [
      request(1),
      leave('A', FULL, { mgid: assigned(1) }).leaves(0),
      request(2),
      get('A', { mgid: assigned(1) }).refused('NO_RECORDS'),
      get('A', { mgid: assigned(2) }).gives({ mgid: assigned(2) }),
    ],
  },
];
