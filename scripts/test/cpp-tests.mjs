// Builds the C++ tests in one variant and runs them.

import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../setup/run.mjs';

const FAILED = { passed: 0, failed: 1, skipped: 0 };
const COMPILE = / -c -o /;
/** Without a terminal a line is said now and then, lest the log fill with them. */
const EVERY = process.stdout.isTTY ? 1 : 20;

/** Where a variant is built. */
export function variantFolder(variant) {
  return join(root, 'native/test/build', variant);
}

/** How many files make is going to compile. */
function planned(args) {
  const dry = spawnSync('make', [...args, '--dry-run'], { cwd: root, encoding: 'utf8' });
  return (dry.stdout ?? '').split('\n').filter((line) => COMPILE.test(line)).length;
}

/**
 * Makes targets of native/test in a variant, with further compiler flags and settings, and says how
 * far it is; true when that worked.
 */
export async function make({ variant, extra, targets, settings = [] }) {
  const args = [
    ...['-C', 'native/test', '-f', 'addon.mk', '--no-print-directory'],
    ...[`VARIANT=${variant}`, `EXTRA=${extra}`],
    ...settings,
    ...targets,
  ];
  const total = planned(args);
  let begun = 0;
  const child = spawn('make', [...args, `-j${availableParallelism()}`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!COMPILE.test(line)) return;
    begun += 1;
    const file = /\S+$/.exec(line)?.[0].replace(`${root}/`, '');
    if (begun % EVERY === 0 || begun === total || begun === 1) {
      console.log(`compiling ${begun} of ${total}: ${file}`);
    }
  });
  // What the compiler has to say comes last, and without the commands.
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const status = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', resolve);
  });
  if (status === 0) return true;
  console.log(`${errors}make failed: ${status}`);
  return false;
}

/**
 * Builds and runs the tests, which are heard as they speak.
 *
 * `wrapper` is a command that gets theirs as its arguments.
 */
export async function cppTests({
  variant = 'plain',
  extra = '',
  wrapper = [],
  env = {},
  timeoutMs = 300_000,
}) {
  const program = join(variantFolder(variant), 'native-tests');
  if (!(await make({ variant, extra, targets: [program] }))) return FAILED;
  const [command, ...args] = [...wrapper, program];
  const tests = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
  });
  let output = '';
  tests.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  const status = await new Promise((resolve) => {
    tests.once('error', (error) => resolve(error.message));
    tests.once('close', (code, signal) => resolve(signal ?? code));
  });
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  if (counts === null) {
    console.log(`the tests ended without their counts: ${status}`);
    return FAILED;
  }
  const failed = Number(counts[2]);
  // A crash, a leak or a race that is reported after the last test is a failure as well.
  return {
    passed: Number(counts[1]),
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: 0,
  };
}
