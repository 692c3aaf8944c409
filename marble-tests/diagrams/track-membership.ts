import { map } from 'rxjs';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { trackMembership } from '../../src/operators/track-membership.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';

export const tracked: Diagram = {
  name: 'track-membership',
  operator: 'rejoinOnReset(…), trackMembership(), map(({ state }) => state)',
  joins: [
    { label: '1st join', mgid, attempt: '--j---r', span: '^-----!' },
    { label: '2nd join', mgid, attempt: '-t     ', span: '--------^!' },
    { label: '3rd join', mgid, attempt: '-d     ', span: '-------------^!' },
  ],
  results: [{ label: 'stream', marbles: 'J-M---O--O----(OF#)', error: 'ENODEV' }],
  values: { J: 'joining', M: 'member', O: 'outage', F: 'failed' },
  legend: {
    j: 'joined',
    r: 'reset',
    t: 'error, ETIMEDOUT',
    d: 'error, ENODEV',
    J: 'joining',
    M: 'member',
    O: 'outage',
    F: 'failed',
  },
  code: ({ provider }) => [
    joinMulticast$({ provider, record: { mgid } }).pipe(
      rejoinOnReset({ initialDelayMs: 2, jitter: 0 }),
      trackMembership(),
      map(({ state }) => state),
    ),
  ],
};
