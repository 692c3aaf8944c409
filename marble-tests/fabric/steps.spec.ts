import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { steps } from '../lifecycle/steps.js';
import type { Step } from '../lifecycle/steps.js';
import { creation, withFabric } from './fabric-test.js';
import type { End } from './member-process.js';

const program = fileURLToPath(new URL('life.mjs', import.meta.url));
const orderly = { itself: 0, exit: 3, throw: 1, terminate: 0 };

// A client that was killed keeps its slot in the simulator, so each end has one of its own.
describe.each(steps)('a process on OpenSM that ends %s', (step: Step) => {
  const at = withFabric({ hosts: 2 }, true);

  /** Lives up to the step and ends there; one that hangs is killed. */
  async function live(way: string): Promise<End> {
    const fabric = await at.fresh();
    const child = fork(program, [step, way], {
      env: fabric.env('Hca2'),
      cwd: fabric.directory,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    child.on('message', (word) => {
      if (word === 'reset') void fabric.console('Baselid "Hca2"[1] 77');
      // Only after a sweep do answers find their way to the port again.
      else fabric.opensm.sweep();
    });
    const timer = setTimeout(() => child.kill('SIGABRT'), 30_000);
    return new Promise((resolve) => {
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        resolve({ code, signal, output });
      });
    });
  }

  it.each(Object.entries(orderly))('by "%s" leaves no membership', async (way, code) => {
    expect(await live(way)).toMatchObject({ code, signal: null });
    // OpenSM may write its dump a little later than it says that it has swept.
    await expect.poll(() => at.groups(), { timeout: 5_000 }).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'])(
    'by %s ends at once; the next start finds what it left as borrowed',
    async (signal) => {
      expect(await live(signal)).toMatchObject({ code: null, signal });
      const left = await at.groups();
      const provider = { probe: 'always' } as const;
      const next = await at.member();
      for (const mgid of left) {
        await next.join(mgid, { record: { mgid, ...creation } }, { provider });
        await next.sequence(mgid, ['joined']);
      }
      if (step === 'joined') expect(left).toHaveLength(3);
      if (step === 'before open' || step === 'opening') expect(left).toEqual([]);
      expect(await next.stats(provider)).toMatchObject({ borrowed: left.length });
      for (const mgid of left) await next.leave(mgid);
      expect(await next.finish()).toMatchObject({ code: 0 });
      expect(await at.groups()).toEqual(left);
    },
  );
});
