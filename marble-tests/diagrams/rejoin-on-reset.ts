import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';

/** A reset, a rejoin after 2 that fails, another after 4 that succeeds. */
export const outage: Diagram = {
  name: 'rejoin-on-reset',
  operator: 'rejoinOnReset({ initialDelayMs: 2, jitter: 0 })',
  joins: [
    { label: '1st join', mgid, attempt: '-j----r', span: '^-----!' },
    { label: '2nd join', mgid, attempt: '-t     ', span: '--------^!' },
    { label: '3rd join', mgid, attempt: '-j     ', span: '-------------^----!' },
  ],
  results: [{ label: 'stream', subscription: '^-----------------!', marbles: '-j----r--t----j' }],
  legend: { j: 'joined', r: 'reset', t: 'error, ETIMEDOUT' },
  code: ({ provider }) => [
    joinMulticast$({ provider, record: { mgid } }).pipe(
      rejoinOnReset({ initialDelayMs: 2, jitter: 0 }),
    ),
  ],
};

/** The 3rd attempt would come 6 after the reset. */
export const givenUp: Diagram = {
  name: 'rejoin-on-reset-given-up',
  operator: 'rejoinOnReset({ initialDelayMs: 2, jitter: 0, maxOutageMs: 6 })',
  joins: [
    { label: '1st join', mgid, attempt: '-j----r', span: '^-----!' },
    { label: '2nd join', mgid, attempt: '-t     ', span: '--------^!' },
  ],
  results: [{ label: 'stream', marbles: '-j----r--(t#)', error: 'ETIMEDOUT' }],
  legend: { j: 'joined', r: 'reset', t: 'error, ETIMEDOUT' },
  code: ({ provider }) => [
    joinMulticast$({ provider, record: { mgid } }).pipe(
      rejoinOnReset({ initialDelayMs: 2, jitter: 0, maxOutageMs: 6 }),
    ),
  ],
};
