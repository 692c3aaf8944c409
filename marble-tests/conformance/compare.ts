// The same requests at two administrators, answer by answer.
import { expect } from 'vitest';
import type { Administrator } from './administrator.js';
import { AssignedMgids } from './assigned-mgids.js';
import { emptyGroup } from './empty-group.js';
import type { RandomRequest } from './random-requests.js';
import { shown } from './sa-mad.js';
import { assigned } from './step.js';

/** An MGID in the form of assigned ones, for requests that come before any has been assigned. */
const NEVER_ASSIGNED = 'ff12:a01b::1';

/** A request in one line, with the fields of its mask. */
function told({ by, method, record, mask, smKey }: RandomRequest): string {
  const trusted = smKey === 1n ? ' trusted' : '';
  return `${by}${trusted} ${method} ${mask.join(',')} of ${JSON.stringify(record)}`;
}

/** Resolves with the number of answers compared; leaves both without the groups of the sequence. */
export async function compareAnswers(
  reference: Administrator,
  other: Administrator,
  sequence: readonly RandomRequest[],
): Promise<number> {
  const assignedMgids = new AssignedMgids();
  const touched = new Set<string>();
  try {
    for (const [index, { by, ...request }] of sequence.entries()) {
      let record = assignedMgids.resolve(request.record);
      if (record.mgid === assigned(1)) record = { ...record, mgid: NEVER_ASSIGNED };
      const answer = await reference.ask(by, { ...request, record });
      const otherAnswer = await other.ask(by, { ...request, record });
      const mgid = answer?.records[0]?.mgid;
      if (answer?.status === 0 && request.method === 'Set' && mgid !== undefined) {
        touched.add(mgid);
        if (record.mgid === '::') assignedMgids.add(mgid);
      }
      expect(
        shown(otherAnswer),
        `answer ${String(index + 1)}, the last of\n${sequence
          .slice(0, index + 1)
          .map(told)
          .join('\n')}`,
      ).toEqual(shown(answer));
    }
  } finally {
    for (const mgid of touched) {
      await emptyGroup(reference, mgid);
      await emptyGroup(other, mgid);
    }
  }
  return sequence.length;
}
