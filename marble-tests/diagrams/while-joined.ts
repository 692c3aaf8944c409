import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { whileJoined } from '../../src/operators/while-joined.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';
const packets = 'x-y-z-w';

export const whileMember: Diagram = {
  name: 'while-joined',
  operator: 'rejoinOnReset(…), whileJoined(() => packets$)',
  inputs: [{ label: 'packets$', marbles: packets }],
  joins: [
    { label: '1st join', mgid, attempt: '-j----r', span: '^-----!' },
    { label: '2nd join', mgid, attempt: '-j     ', span: '--------^---!' },
  ],
  results: [{ label: 'stream', subscription: '^-----------!', marbles: '-x-y-z---x-y' }],
  legend: { j: 'joined', r: 'reset' },
  code: ({ provider, helpers }) => [
    joinMulticast$({ provider, record: { mgid } }).pipe(
      rejoinOnReset({ initialDelayMs: 2, jitter: 0 }),
      whileJoined(() => helpers.cold(packets)),
    ),
  ],
};
