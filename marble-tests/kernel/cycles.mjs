// The long part of the kernel lane: what thousands of joins and leaves leave behind, and what many
// groups cost on one identifier and on one each.

import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { joinMulticast$, rdmacm } from 'rx-ib-multicast';
import { check, equal, note, runChecks, truth } from './checks.mjs';
import { kernelGroups } from './kernel-groups.mjs';

const run = promisify(execFile);
const PROBE = '/opt/bin/rdmacm-probe';
const LONG = { limitMs: 900_000 };

async function probe(...args) {
  const { stdout } = await run(PROBE, args, { encoding: 'utf8' });
  for (const line of stdout.trim().split('\n')) note(line);
}

check('64 groups on one identifier, and on one each', () => probe('many', '10.77.0.1', '64'));

check('512 groups on one identifier, and on one each', () => probe('many', '10.77.0.1', '512'));

check(
  '10,000 joins and leaves in the native probe leave nothing behind',
  () => probe('cycles', 'rxe0', '239.8.0.1', '10000'),
  LONG,
);

check(
  '300 joins and leaves through node leave nothing behind',
  async () => {
    const provider = rdmacm();
    const cycle = () =>
      new Promise((resolve, reject) => {
        const subscription = joinMulticast$({
          provider,
          device: 'rxe0',
          port: 1,
          group: '239.8.0.2',
        }).subscribe({
          next: () => {
            subscription.unsubscribe();
            provider.idle().then(resolve, reject);
          },
          error: reject,
        });
      });
    const measure = () => {
      globalThis.gc();
      globalThis.gc();
      const { rss, external, heapUsed } = process.memoryUsage();
      return {
        files: readdirSync('/proc/self/fd').length,
        rss: Math.round(rss / 1024),
        heap: Math.round((heapUsed + external) / 1024),
        ...(({ handlesAlive, groups, leavesFailed }) => ({ handlesAlive, groups, leavesFailed }))(
          provider.stats(),
        ),
      };
    };
    for (let i = 0; i < 50; i += 1) await cycle();
    const before = measure();
    const start = performance.now();
    for (let i = 0; i < 300; i += 1) await cycle();
    const each = (performance.now() - start) / 300;
    const after = measure();
    note(
      `${each.toFixed(1)} ms each; before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`,
    );
    equal(after.files, before.files, 'open files');
    equal(kernelGroups(), {}, 'what the kernel has joined');
    equal([after.handlesAlive, after.groups, after.leavesFailed], [0, 0, 0], 'what is left');
    truth(after.heap - before.heap < 1_024, 'the heap is flat');
    truth(after.rss - before.rss < 8_192, 'resident memory is flat');
    await provider.close();
  },
  LONG,
);

await runChecks();
