// The contract's cases at one provider, in a process of its own. The kernel lane runs the same program.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTRACT_CASES } from './contract-cases.mjs';
import type { BackendName } from './contract-cases.mjs';

const PROGRAM = fileURLToPath(new URL('contract-program.mjs', import.meta.url));

/** What the process says of each case, by its name: 'ok', or what went wrong. */
function resultsOf(
  backend: BackendName,
  env: NodeJS.ProcessEnv,
  cwd?: string,
): Promise<{ results: Map<string, string>; code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--expose-gc', PROGRAM, backend], {
      env,
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    child.once('error', reject);
    child.once('close', (code) => {
      const passed = [...output.matchAll(/^ok (.*) \(\d+ ms\)$/gm)];
      const failed = [...output.matchAll(/^not ok (.*?): (.*)$/gm)];
      const results = new Map([
        ...passed.map(([, name = '']): [string, string] => [name, 'ok']),
        ...failed.map(([, name = '', why = '']): [string, string] => [name, why]),
      ]);
      resolve({ results, code, output });
    });
  });
}

/** Declares the cases that the backend can express; `start` says where its process lives. */
export function describeContract(
  backend: BackendName,
  start: () => Promise<{ env: NodeJS.ProcessEnv; cwd?: string }>,
): void {
  const cases = CONTRACT_CASES.filter(({ except }) => except?.[backend] === undefined);
  describe(`the contract of joinMulticast$ by ${backend}`, () => {
    let ran: Awaited<ReturnType<typeof resultsOf>>;
    beforeAll(async () => {
      const { env, cwd } = await start();
      ran = await resultsOf(backend, env, cwd);
    }, 300_000);

    for (const { name } of cases) {
      it(name, () => {
        expect(ran.results.get(name) ?? `it did not run:\n${ran.output}`).toBe('ok');
      });
    }

    it('the process ends by itself, and has run nothing else', () => {
      expect(ran.code, ran.output).toBe(0);
      expect(ran.results.size).toBe(cases.length + 1);
    });
  });
}
