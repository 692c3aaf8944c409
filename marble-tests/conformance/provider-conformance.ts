// The same tests for every provider that joins at a subnet administrator.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Joiner } from './joiner.js';
import { ASSIGNED, PROVIDER_CASES } from './provider-cases.js';
import type { Outcome, ProviderCase } from './provider-cases.js';
import type { PortName } from './step.js';

function withoutAssignedMgid(outcome: Outcome, expected: Outcome | undefined): Outcome {
  if (outcome.type !== 'joined' || expected?.type !== 'joined') return outcome;
  if (expected.record.mgid !== ASSIGNED) return outcome;
  expect(outcome.record.mgid).toMatch(/^ff12:a01b:/);
  return { ...outcome, record: { ...outcome.record, mgid: ASSIGNED } };
}

export function describeProviderConformance(name: string, start: () => Promise<Joiner>): void {
  describe(`joinMulticast$ by ${name}`, () => {
    let joiner: Joiner;
    let lastId = 0;
    const standing = new Map<string, PortName>();
    beforeAll(async () => {
      joiner = await start();
    });
    afterEach(async () => {
      for (const [id, by] of standing) await joiner.leave(by, id);
      standing.clear();
    });
    afterAll(async () => {
      expect(await joiner.groups()).toEqual([]);
      await joiner.close();
    });

    async function runProviderCase({ steps }: ProviderCase): Promise<void> {
      const ids: string[] = [];
      for (const [index, { by, join, leave, expected }] of steps.entries()) {
        const id = `s${String((lastId += 1))}`;
        ids.push(id);
        if (leave !== undefined) {
          const left = ids[leave - 1] ?? '';
          await joiner.leave(by, left);
          standing.delete(left);
        }
        if (join === undefined) continue;
        standing.set(id, by);
        const outcome = await joiner.join(by, id, join);
        expect(withoutAssignedMgid(outcome, expected), `step ${String(index + 1)}`).toEqual(
          expected,
        );
      }
    }

    for (const one of PROVIDER_CASES) it(one.name, () => runProviderCase(one));
  });
}
