import { describe, expect, it } from 'vitest';
import { runModule } from './run-module.js';
import { steps } from './steps.js';

// `at(step)` is called at each step.
const life = `
  at('before open');
  const fabric = embeddedFabric({ ports: 1, delayMs: 1 });
  const request = (n) => ({ provider: fabric, record: { mgid: 'ff12::' + n, ...creation } });
  let closed = false;
  // Registered after the addon's own, which leaves everything.
  process.on('exit', () => console.log(JSON.stringify(closed ? { members: 0, alive: 0, even: true } : {
    members: fabric.members().length,
    alive: fabric.stats().handlesAlive,
    even: fabric.stats().joinsStarted === fabric.stats().handlesFreed,
  })));
  at('opening');
  let joined = 0;
  const subscriptions = [1, 2, 3].map((n) =>
    joinMulticast$(request(n)).pipe(rejoinOnReset({ initialDelayMs: 5, jitter: 0 })).subscribe((event) => {
      if (event.type === 'reset') { at('resetting'); setTimeout(() => at('rejoining'), 6); }
      if (event.type !== 'joined' || (joined += 1) < 3) return;
      if (joined === 3) { at('joined'); fabric.takeover(9); }
      if (joined === 6) {
        for (const subscription of subscriptions) subscription.unsubscribe();
        at('leaving');
        fabric.close().then(() => { closed = true; at('closed'); });
      }
    }));
  leaveAll = () => { for (const subscription of subscriptions) subscription.unsubscribe(); };
  at('joining');
`;

/** The program; `act` is what it does at the step. */
const program = (step: string, act: string): string => `
  let leaveAll = () => undefined;
  let come = false;
  const at = (step) => {
    if (come || step !== ${JSON.stringify(step)}) return;
    come = true;
    ${act}
  };
  ${life}
`;

const clean = { members: 0, alive: 0, even: true };
/** What was left; a process that ended before it had a fabric has nothing to report. */
const reported = (output: string) =>
  JSON.parse(/^\{.*\}$/m.exec(output)?.[0] ?? JSON.stringify(clean)) as typeof clean;

describe.each(steps)('a process that ends %s', (step) => {
  it('by itself leaves everything', async () => {
    const end = await runModule(program(step, 'setTimeout(() => leaveAll(), 0);'));
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(reported(end.output)).toEqual(clean);
  });

  it('by process.exit() leaves everything', async () => {
    const end = await runModule(program(step, 'process.exit(3);'));
    expect(end).toMatchObject({ code: 3, signal: null });
    expect(reported(end.output)).toEqual(clean);
  });

  it('by an uncaught exception leaves everything', async () => {
    const end = await runModule(
      program(step, "setImmediate(() => { throw new Error('on purpose'); });"),
    );
    expect(end).toMatchObject({ code: 1, signal: null });
    expect(reported(end.output)).toEqual(clean);
  });

  // What they leave behind at a real subnet manager is documented and looked at on OpenSM; here
  // the process must end by the signal, without a crash of another kind and without a hang.
  it.each(['SIGTERM', 'SIGKILL'])('by %s ends at once', async (signal) => {
    const end = await runModule(program(step, `process.kill(process.pid, '${signal}');`));
    expect(end).toMatchObject({ code: null, signal });
  });

  it('by worker.terminate() neither crashes nor hangs', async () => {
    const inWorker = `
      import { parentPort } from 'node:worker_threads';
      import { embeddedFabric, joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';
      const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
      const process = { on() {} };
      ${program(step, "parentPort.postMessage('now'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);")}
      setInterval(() => undefined, 1000);
    `;
    const end = await runModule(`
      import { Worker } from 'node:worker_threads';
      const worker = new Worker(
        new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(inWorker)}.replaceAll(
          "'rx-ib-multicast'", JSON.stringify(import.meta.resolve('rx-ib-multicast'))))));
      worker.on('error', (error) => { console.error(error); process.exitCode = 9; });
      await new Promise((resolve) => worker.once('message', resolve));
      await worker.terminate();
      console.log('survived');
    `);
    expect(end.output).toContain('survived');
    expect(end).toMatchObject({ code: 0, signal: null });
  });
});

describe('garbage collection', () => {
  it('takes no membership from whoever has only subscribed', async () => {
    const end = await runModule(
      `
      const fabric = embeddedFabric({ ports: 1 });
      let told = 0;
      const join = () => {
        joinMulticast$({ provider: fabric, record: { mgid: 'ff12::1', ...creation } })
          .pipe(rejoinOnReset({ initialDelayMs: 1 }))
          .subscribe(() => (told += 1));
      };
      join();
      const collect = async () => {
        for (let i = 0; i < 5; i += 1) { gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
      };
      await collect();
      fabric.takeover(9);
      await collect();
      console.log(JSON.stringify({ told, members: fabric.members().length }));
      process.exit();
      `,
    );
    expect(end.code).toBe(0);
    // joined, reset, joined
    expect(JSON.parse(end.output)).toEqual({ told: 3, members: 1 });
  });
});
