import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { shareMembership } from '../../src/operators/share-membership.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';

/** Three subscribers, one join: the second comes late, the third while the membership lingers. */
export const shared: Diagram = {
  name: 'share-membership',
  operator: 'shareMembership({ lingerMs: 4 })',
  joins: [{ label: 'provider', mgid, attempt: '--j', span: '^-----------------!' }],
  results: [
    { label: '1st subscriber', subscription: '^---!', marbles: '         --j' },
    { label: '2nd subscriber', subscription: '---^----!', marbles: '     ---j' },
    { label: '3rd subscriber', subscription: '----------^---!', marbles: '----------j' },
  ],
  legend: { j: 'joined' },
  code: ({ provider }) => {
    const shared$ = joinMulticast$({ provider, record: { mgid } }).pipe(
      shareMembership({ lingerMs: 4 }),
    );
    return [shared$, shared$, shared$];
  },
};
