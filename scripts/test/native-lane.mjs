// The C++ tests, without Node.

import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../setup/run.mjs';

const LIMIT_MS = 300_000;
const COMPILE = / -c -o /;
/** Without a terminal a line is said now and then, lest the log fill with them. */
const EVERY = process.stdout.isTTY ? 1 : 20;

const makeArgs = (...more) => ['-C', 'native/test', '--no-print-directory', ...more];

/** How many files make is going to compile. */
function planned() {
  const dry = spawnSync('make', makeArgs('--dry-run'), { cwd: root, encoding: 'utf8' });
  return (dry.stdout ?? '').split('\n').filter((line) => COMPILE.test(line)).length;
}

/** Compiles the tests and says how far it is; true when that worked. */
async function build() {
  const total = planned();
  let begun = 0;
  const make = spawn('make', makeArgs(`-j${availableParallelism()}`), {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  createInterface({ input: make.stdout }).on('line', (line) => {
    if (!COMPILE.test(line)) return;
    begun += 1;
    const file = /\S+$/.exec(line)?.[0].replace(`${root}/`, '');
    if (begun % EVERY === 0 || begun === total || begun === 1) {
      console.log(`compiling ${begun} of ${total}: ${file}`);
    }
  });
  // What the compiler has to say comes last, and without the commands.
  let errors = '';
  make.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const status = await new Promise((resolve) => {
    make.once('error', (error) => resolve(error.message));
    make.once('close', resolve);
  });
  if (status === 0) return true;
  console.log(`${errors}make failed: ${status}`);
  return false;
}

/** Runs the tests, which are heard as they speak. */
async function runTests() {
  const tests = spawn(join(root, 'native/test/build/plain/native-tests'), {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LIMIT_MS,
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
  return { output, status };
}

export async function nativeLane() {
  if (!(await build())) return { passed: 0, failed: 1, skipped: 0 };
  const { output, status } = await runTests();
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  if (counts === null) {
    console.log(`the tests ended without their counts: ${status}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const failed = Number(counts[2]);
  // A crash after the last test is a failure as well.
  return {
    passed: Number(counts[1]),
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: 0,
  };
}
