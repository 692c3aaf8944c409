import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  buildPeer,
  embeddedAdministrator,
  opensmAdministrator,
} from '../conformance/administrator.js';
import type { Administrator } from '../conformance/administrator.js';
import { compareAnswers } from '../conformance/compare.js';
import { describeConformance } from '../conformance/conformance.js';
import { opensmJoiner } from '../conformance/joiner.js';
import { describeProviderConformance } from '../conformance/provider-conformance.js';
import { placed, requests } from '../conformance/random-requests.js';

describeConformance('OpenSM', opensmAdministrator);
describeProviderConformance('umad()', opensmJoiner);

describe('random requests at both', () => {
  // Set higher for a long run.
  const sequences = Number(process.env.RXIB_CONFORMANCE_SEQUENCES ?? 300);
  let opensm: Administrator;
  let embedded: Administrator;
  beforeAll(async () => {
    buildPeer();
    [opensm, embedded] = await Promise.all([opensmAdministrator(), embeddedAdministrator()]);
  }, 300_000);
  afterAll(() => Promise.all([opensm.close(), embedded.close()]));

  it(
    `gives the same answers to ${String(sequences)} sequences`,
    async () => {
      let place = 0;
      let answers = 0;
      // A failure prints the seed, which gives the same sequences again.
      const seed = Number(process.env.RXIB_CONFORMANCE_SEED ?? Date.now() % 2 ** 31);
      await fc.assert(
        fc.asyncProperty(requests, async (sequence) => {
          place += 1;
          answers += await compareAnswers(opensm, embedded, placed(sequence, place));
        }),
        // Not shrunk: after a difference the two no longer agree on what is there.
        { seed, numRuns: sequences, endOnFailure: true },
      );
      expect(answers).toBeGreaterThan(sequences);
    },
    Math.max(300_000, sequences * 300),
  );
});
