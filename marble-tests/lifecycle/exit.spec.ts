import { describe, expect, it } from 'vitest';
import { patience } from './patience.js';
import { runProgram } from './run-program.js';

describe('a process', () => {
  it('ends by itself when nothing is joined', async () => {
    expect(await runProgram('fabric.stats();')).toMatchObject({ code: 0, signal: null });
  });

  it('ends by itself after the last membership has left', async () => {
    const end = await runProgram(`
      const subscriptions = joins([1, 2, 3]).map((join) => join.subscribe());
      setTimeout(() => subscriptions.forEach((s) => s.unsubscribe()), 100);
      process.on('exit', report);
    `);
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(JSON.parse(end.output)).toEqual({ members: 0, made: 3, freed: 3 });
  });

  it('stays while it is a member', async () => {
    const end = await runProgram('joins([1]).forEach((join) => join.subscribe());', 1500);
    expect(end.signal).toBe('SIGKILL');
  });

  it('does not stay for a membership with ref: false', async () => {
    const end = await runProgram(`
      const loose = embeddedFabric({ ref: false });
      joinMulticast$({ provider: loose, record: { mgid: 'ff12::1', ...creation }, joinTimeoutMs: Infinity })
        .subscribe();
    `);
    expect(end).toMatchObject({ code: 0, signal: null });
  });

  it('does not stay for a manual clock that nobody moves', async () => {
    const end = await runProgram(`
      const manual = embeddedFabric({ clock: 'manual' });
      joinMulticast$({ provider: manual, record: { mgid: 'ff12::1', ...creation }, joinTimeoutMs: Infinity })
        .subscribe();
    `);
    expect(end).toMatchObject({ code: 0, signal: null });
  });

  const moments = [
    'before the join is answered',
    'in the joined handler',
    'in the reset handler',
    'while leaving',
  ];
  const ends: [string, string, number][] = [
    ['process.exit()', 'process.exit(3)', 3],
    ['an uncaught exception', "(() => { throw new Error('on purpose'); })()", 1],
  ];
  for (const moment of moments) {
    for (const [how, act, code] of ends) {
      it(`leaves at ${how} ${moment}`, async () => {
        const end = await runProgram(`
          process.on('exit', report);
          const go = () => { ${act}; };
          const at = ${JSON.stringify(moment)};
          let joined = 0;
          const subscriptions = joins([1, 2, 3]).map((join) => join.subscribe({
            next: (event) => {
              if (event.type === 'joined') joined += 1;
              if (at === 'in the joined handler') go();
              if (joined < 3) return;
              if (event.type === 'reset') go();
              if (at === 'in the reset handler') fabric.takeover(9);
              if (at === 'while leaving') { subscriptions.forEach((s) => s.unsubscribe()); go(); }
            },
            error: () => undefined,
          }));
          if (at === 'before the join is answered') go();
        `);
        expect(end).toMatchObject({ code, signal: null });
        const counts = JSON.parse(/^\{.*\}$/m.exec(end.output)?.[0] ?? '{}') as object;
        expect(counts).toEqual({ members: 0, made: 3, freed: 3 });
      });
    }
  }
});

describe('worker.terminate()', () => {
  it(
    'neither crashes nor hangs in the middle of a storm, 30 of 30',
    async () => {
      const end = await runProgram(
        `
      const { Worker } = await import('node:worker_threads');
      const storm = \`
        import('rx-ib-multicast').then(({ embeddedFabric, joinMulticast$, rejoinOnReset }) => {
          const fabric = embeddedFabric({ ports: 1 });
          const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
          for (let n = 1; n < 200; n += 1) {
            joinMulticast$({ provider: fabric, record: { mgid: 'ff12::' + n, ...creation } })
              .pipe(rejoinOnReset({ initialDelayMs: 0, jitter: 0, stableMs: 0 }))
              .subscribe(() => undefined);
          }
          setInterval(() => { fabric.takeover(9); fabric.stats(); fabric.members(); }, 1);
          require('node:worker_threads').parentPort.postMessage('running');
        });
      \`;
      for (let i = 0; i < 30; i += 1) {
        const worker = new Worker(storm, { eval: true, execArgv: [] });
        await new Promise((resolve) => worker.once('message', resolve));
        await new Promise((resolve) => setTimeout(resolve, i * 2));
        await worker.terminate();
      }
      console.log('survived');
      `,
        60_000,
      );
      expect(end).toMatchObject({ code: 0, signal: null });
      expect(end.output).toContain('survived');
    },
    70_000 * patience,
  );
});
