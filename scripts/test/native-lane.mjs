// The C++ tests, without Node.

import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

export function nativeLane() {
  const make = (target) =>
    spawnSync(
      'make',
      ['-C', 'native/test', `-j${availableParallelism()}`, '--no-print-directory', ...target],
      {
        cwd: root,
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      },
    );
  const build = make([]);
  if (build.status !== 0) {
    console.log(build.stdout, build.stderr);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const tests = spawnSync(join(root, 'native/test/build/plain/native-tests'), {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: 300_000,
  });
  process.stdout.write(tests.stdout ?? '');
  process.stderr.write(tests.stderr ?? '');
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(tests.stdout ?? '');
  if (counts === null) {
    console.log(`the tests ended without their counts: ${tests.signal ?? `exit ${tests.status}`}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const failed = Number(counts[2]);
  // A crash after the last test is a failure as well.
  return {
    passed: Number(counts[1]),
    failed: failed === 0 && tests.status !== 0 ? 1 : failed,
    skipped: 0,
  };
}
