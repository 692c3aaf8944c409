// A sample of the tests on other Node lines, which come from npm's registry. One addon serves all.

import { spawnSync } from 'node:child_process';
import { vitestLane } from './vitest-lane.mjs';

const LINES = ['22', '24'];
const SPECS = ['marble-tests/binding', 'marble-tests/lifecycle', 'marble-tests/providers'];

/** The program of a Node line, and otherwise what npm said. */
function nodeOf(line) {
  const found = spawnSync('npx', ['-y', `node@${line}`, '-p', 'process.execPath'], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  const path = (found.stdout ?? '').trim().split('\n').at(-1);
  if (found.status === 0 && path !== '') return { path };
  const errors = (found.stderr ?? '').split('\n').filter((text) => text.startsWith('npm error'));
  return { why: errors.slice(0, 2).join('; ') || (found.error?.message ?? 'it says nothing') };
}

export async function nodesLane() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const line of LINES) {
    const { path, why } = nodeOf(line);
    if (path === undefined) {
      total.missing = `npx gives no node@${line}, which takes npm's registry or cache: ${why}`;
      continue;
    }
    console.log(`Node ${line}: ${path}`);
    const args = ['--project', 'unit', ...SPECS];
    const { passed, failed, skipped } = await vitestLane(args, {}, [path]);
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}
