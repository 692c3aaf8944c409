// npm run lint: eslint, prettier, clang-format, the type checks, and whether the deliberate breakages
// still fit the source. With --fix, the first three mend what they can.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import './build.mjs';
import { root } from './setup/run.mjs';

const fix = process.argv.includes('--fix');
const bin = (path) => join(root, 'node_modules', path);
const cpp = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'native'], {
  cwd: root,
  encoding: 'utf8',
})
  .stdout.split('\n')
  .filter((name) => /\.(cc|h)$/.test(name));

const checks = {
  eslint: [bin('eslint/bin/eslint.js'), '.', '--max-warnings=0', ...(fix ? ['--fix'] : [])],
  prettier: [
    bin('prettier/bin/prettier.cjs'),
    fix ? '--write' : '--check',
    '--log-level=warn',
    '.',
  ],
  'clang-format': [
    bin('clang-format-node/build/cli.js'),
    '--style=file',
    ...(fix ? ['-i'] : ['--dry-run', '--Werror']),
    ...cpp,
  ],
  'types of src': [bin('typescript/bin/tsc'), '-p', '.', '--noEmit'],
  'types of tests': [bin('typescript/bin/tsc'), '-p', 'tsconfig.test.json'],
  breakages: [join(root, 'scripts/mutations.mjs'), '--fit'],
};

let failed = 0;
for (const [name, args] of Object.entries(checks)) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  console.log(`${status === 0 ? 'ok    ' : 'not ok'}  ${name}`);
  if (status !== 0) failed += 1;
}
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
