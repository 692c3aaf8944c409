import { describe, expect, it } from 'vitest';
import { runProgram } from './run-program.js';

describe('a fabric', () => {
  it('lives as long as one of its clients is in use', async () => {
    const end = await runProgram(`
      const client = embeddedFabric().client();
      let reset = 0;
      const subscription = joinMulticast$({ provider: client, record: { mgid: 'ff12::1', ...creation } })
        .subscribe({ next: (event) => { if (event.type !== 'joined') reset += 1; } });
      for (let i = 0; i < 5; i += 1) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      console.log(client.stats().joined, reset, client.ports().length);
      subscription.unsubscribe();
    `);
    expect(end).toMatchObject({ code: 0, signal: null, output: '1 0 2\n' });
  });

  it('goes with its ports and threads when nobody can reach it any more', async () => {
    const end = await runProgram(`
      const { readdirSync } = await import('node:fs');
      const threads = () => readdirSync('/proc/self/task').length;
      const before = threads();
      for (let i = 0; i < 20; i += 1) {
        await new Promise((resolve) => {
          const forgotten = embeddedFabric();
          const subscription = joinMulticast$({
            provider: forgotten,
            record: { mgid: 'ff12::1', ...creation },
          }).subscribe(() => { subscription.unsubscribe(); setTimeout(resolve, 5); });
        });
      }
      const peak = threads();
      for (let i = 0; i < 40 && threads() > before; i += 1) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      console.log(peak >= before + 20, threads() <= before);
    `);
    expect(end).toMatchObject({ code: 0, signal: null, output: 'true true\n' });
  });
});

describe('close()', () => {
  it('frees and leaves what is still alive of this provider, and nothing of another', async () => {
    const end = await runProgram(`
      const other = fabric.client();
      const join = (provider, n) =>
        joinMulticast$({ provider, record: { mgid: 'ff12::' + n, ...creation } });
      let joined = 0;
      await new Promise((resolve) => {
        const count = () => { joined += 1; if (joined === 2) resolve(); };
        join(other, 1).subscribe(count);
        join(fabric, 2).subscribe(count);
      });
      await other.close();
      console.log(fabric.members().map((member) => member.mgid).join());
      process.exit(0);
    `);
    expect(end).toMatchObject({ code: 0, output: 'ff12::2\n' });
  });
});
