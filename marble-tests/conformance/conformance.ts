// The suite itself: the same tests for every administrator.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPeer } from './administrator.js';
import type { Administrator } from './administrator.js';
import { CASES } from './cases.js';
import { runCase } from './run-case.js';

/** Declares every case, statement by statement, at one administrator. */
export function describeConformance(name: string, start: () => Promise<Administrator>): void {
  // Groups that are pinned take an MLID each, so their cases come after all others.
  const passing = CASES.filter(({ pinned }) => pinned === undefined);
  const pinning = CASES.filter(({ pinned }) => pinned !== undefined);
  const statements = new Set(passing.map(({ statement }) => statement));
  describe(`MCMemberRecord at ${name}`, () => {
    let administrator: Administrator;
    beforeAll(async () => {
      buildPeer();
      administrator = await start();
    }, 300_000);
    afterAll(() => administrator.close());

    for (const statement of statements) {
      const cases = passing.filter((one) => one.statement === statement);
      describe(statement, () => {
        for (const one of cases) it(one.name, () => runCase(administrator, one));
      });
    }

    describe('groups that are left pinned', () => {
      for (const one of pinning) {
        it(`${one.statement} ${one.name}`, () => runCase(administrator, one));
      }
    });

    it('has cases with names of their own', () => {
      const names = CASES.map((one) => `${one.statement} ${one.name}`);
      expect(new Set(names).size).toBe(names.length);
    });
  });
}
