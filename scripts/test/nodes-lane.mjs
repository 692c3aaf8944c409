// A sample of the tests on other Node lines, which come from npm's registry. One addon serves all.

import { spawnSync } from 'node:child_process';
import { vitestLane } from './vitest-lane.mjs';

const LINES = ['22', '24'];
const SPECS = ['marble-tests/binding', 'marble-tests/lifecycle', 'marble-tests/providers'];

/** The program of a Node line, or undefined where npm cannot give it. */
function nodeOf(line) {
  const found = spawnSync('npx', ['-y', `node@${line}`, '-p', 'process.execPath'], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  const path = (found.stdout ?? '').trim().split('\n').at(-1);
  return found.status === 0 && path !== '' ? path : undefined;
}

export async function nodesLane() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const line of LINES) {
    const node = nodeOf(line);
    if (node === undefined) {
      total.missing = `npm's registry gives no node@${line} here`;
      continue;
    }
    console.log(`Node ${line}: ${node}`);
    const { passed, failed, skipped } = await vitestLane(['--project', 'unit', ...SPECS], {}, node);
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}
