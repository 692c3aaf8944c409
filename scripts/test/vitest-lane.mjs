// A lane that runs vitest on some of marble-tests/.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

/** vitest colours its output under CI even where nobody sees colours: in a file or a pipe. */
function environment() {
  const asked = process.stdout.isTTY || process.env.FORCE_COLOR !== undefined;
  return asked ? process.env : { ...process.env, NO_COLOR: '1' };
}

/**
 * Runs vitest with further arguments and variables; counts come from its own report. `node` is the
 * command of any node, with what goes before it.
 */
export async function vitestLane(args, env = {}, node = [process.execPath]) {
  const [command, ...before] = node;
  const directory = mkdtempSync(join(tmpdir(), 'rx-ib-multicast-report-'));
  const report = join(directory, 'report.json');
  try {
    const status = await new Promise((resolve) => {
      spawn(
        command,
        [
          ...before,
          join(root, 'node_modules/vitest/vitest.mjs'),
          'run',
          '--reporter=default',
          '--reporter=json',
          `--outputFile.json=${report}`,
          ...args,
        ],
        { cwd: root, stdio: 'inherit', env: { ...environment(), ...env } },
      ).once('exit', resolve);
    });
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(report, 'utf8'),
    );
    const failed = numFailedTests;
    return {
      passed: numPassedTests,
      // A suite that could not be loaded, or an error outside of the tests, fails vitest only.
      failed: failed === 0 && status !== 0 ? 1 : failed,
      skipped: numPendingTests + numTodoTests,
    };
  } catch (error) {
    console.log(`vitest gave no report: ${error.message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
