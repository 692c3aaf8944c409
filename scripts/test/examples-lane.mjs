// The programs in docs/examples/: each runs to its end. TypeScript examples are type-checked first.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

export function examplesLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  const folder = join(root, 'docs', 'examples');
  const check = (name, command, args) => {
    const run = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: 60_000 });
    if (run.status === 0) {
      result.passed += 1;
      console.log(`ok      ${name}`);
      return true;
    }
    result.failed += 1;
    console.log(`not ok  ${name}\n${run.stdout}${run.stderr}`);
    return false;
  };
  if (existsSync(join(folder, 'tsconfig.json'))) {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    check('docs/examples type-check', process.execPath, [tsc, '-p', folder]);
  }
  for (const name of readdirSync(folder).sort()) {
    if (name.endsWith('.mjs'))
      check(`docs/examples/${name}`, process.execPath, [join(folder, name)]);
  }
  return result;
}
