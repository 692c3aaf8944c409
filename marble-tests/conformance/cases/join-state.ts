import { FULL, NON, SEND, SEND_FULL } from '../sa-mad.js';
import { create, G, get, join, leave, trustedGet } from '../step.js';
import type { ConformanceCase } from '../step.js';

const NAMES: readonly [bit: number, name: string][] = [
  [FULL, 'full'],
  [NON, 'non'],
  [SEND, 'send-only non'],
  [SEND_FULL, 'send-only full'],
];

function nameOf(joinState: number): string {
  const names = NAMES.filter(([bit]) => (joinState & bit) !== 0).map(([, name]) => name);
  return names.length === 0 ? 'nothing' : names.join(' + ');
}

const creations = Array.from({ length: 16 }, (_, joinState): ConformanceCase => {
  const request = create('A', { joinState });
  const lives = (joinState & (FULL | SEND_FULL)) !== 0;
  return {
    statement: 'o15-0.1.9',
    name: `creation as ${nameOf(joinState)}`,
    steps: [lives ? request.gives() : request.refused('REQ_INVALID')],
  };
});

/** A member with some bits asks for others, in a group that B keeps alive. */
function accumulated(first: number, second: number): ConformanceCase {
  const both = first | second;
  return {
    statement: 'o15-0.1.11',
    name: `${nameOf(first)}, then ${nameOf(second)}`,
    steps: [
      create('B').gives(),
      join('A', { joinState: first }).gives(),
      join('A', { joinState: second }).gives({ joinState: both }),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: both }),
    ],
  };
}

const BITS = [FULL, NON, SEND, SEND_FULL];

/** o15-0.1.9 and o15-0.1.11: who creates, and what a member holds. */
export const joinState: readonly ConformanceCase[] = [
  ...creations,
  {
    statement: 'o15-0.1.9',
    name: 'a group that exists is joined as anything but nothing',
    steps: [
      create('A').gives(),
      join('B', { joinState: NON }).gives(),
      join('C', { joinState: SEND }).gives(),
      join('B', { joinState: 0 }).refused('REQ_INVALID'),
    ],
  },
  {
    statement: 'o15-0.1.9',
    name: 'a group that only a send-only full member keeps is joined like any other',
    steps: [create('A', { joinState: SEND_FULL }).gives(), join('B', { joinState: SEND }).gives()],
  },
  ...BITS.flatMap((first) =>
    BITS.filter((second) => second !== first).map((second) => accumulated(first, second)),
  ),
  accumulated(FULL, FULL),
  accumulated(NON | SEND, FULL),
  accumulated(FULL, NON | SEND | SEND_FULL),
  accumulated(FULL | SEND, SEND | NON),
  {
    statement: 'o15-0.1.11',
    name: 'bits belong to the port, not to the group',
    steps: [
      create('A', { joinState: FULL | SEND }).gives(),
      join('B', { joinState: NON }).gives(),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL | SEND }),
      trustedGet('A', { mgid: G, portGid: 'B' }).gives({ portGid: 'B', joinState: NON }),
      trustedGet('A', { mgid: G, portGid: 'C' }).refused('NO_RECORDS'),
    ],
  },
  {
    statement: 'o15-0.1.11',
    name: 'a further join that is refused adds nothing',
    steps: [
      create('A').gives(),
      create('A', { joinState: NON, qkey: 1 }).refused('REQ_INVALID'),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL }),
    ],
  },
  {
    statement: 'o15-0.1.11',
    name: 'a further join with nothing is refused and takes nothing',
    steps: [
      create('A', { joinState: FULL | NON }).gives(),
      join('A', { joinState: 0 }).refused('REQ_INVALID'),
      trustedGet('A', { mgid: G, portGid: 'A' }).gives({ portGid: 'A', joinState: FULL | NON }),
    ],
  },
  {
    statement: 'o15-0.1.11',
    name: 'bits that were left can be had again',
    steps: [
      create('A', { joinState: FULL | SEND }).gives(),
      leave('A', SEND).leaves(FULL),
      join('A', { joinState: SEND }).gives({ joinState: FULL | SEND }),
    ],
  },
  {
    statement: 'o15-0.1.11',
    name: 'a non-member that becomes a full member keeps the group alive',
    steps: [
      create('A').gives(),
      join('B', { joinState: NON }).gives(),
      join('B', { joinState: FULL }).gives({ joinState: FULL | NON }),
      leave('A', FULL).leaves(0),
      get('A', { mgid: G }).gives(),
    ],
  },
];
