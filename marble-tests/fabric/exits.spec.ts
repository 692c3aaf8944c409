import { describe, expect, it } from 'vitest';
import type { Asked } from './ask-all.mjs';
import { creation, withFabric } from './fabric-test.js';
import type { MemberProcess } from './member-process.js';

// How often each way to exit is tried. A client that crashed would keep its slot in the simulator.
const TIMES = 20;

describe('a process on a real fabric', () => {
  const at = withFabric({ hosts: 3 });
  const requests = [1, 2, 3].map((index) => ({
    record: { mgid: `ff12:cafe::4${String(index)}`, ...creation },
  }));

  async function joined() {
    const member = await at.member();
    for (const [index, request] of requests.entries()) await member.join(String(index), request);
    await member.says(() => member.said.filter((said) => said.type === 'joined').length === 3);
    return member;
  }

  it('exits by itself with nothing joined, and stays while it is a member', async () => {
    const member = await at.member();
    await member.join('a', requests[0] ?? {});
    await member.sequence('a', ['joined']);
    // From here on only the membership holds the process.
    member.send('disconnect');
    const early = await Promise.race([
      member.ended,
      new Promise((resolve) => setTimeout(resolve, 1500, 'alive')),
    ]);
    expect(early).toBe('alive');
    expect(await at.groups()).toEqual(['ff12:cafe::41']);
    member.signal('SIGKILL');
    await member.ended;
    await at.fabric.disconnect(member.pid);

    const other = await at.member();
    await other.join('a', requests[0] ?? {});
    await other.sequence('a', ['joined']);
    await other.leave('a');
    other.send('disconnect');
    expect(await other.ended).toMatchObject({ code: 0, signal: null });
    expect(await at.groups()).toEqual([]);
  });

  it('close() leaves what a LID change has left standing', async () => {
    const member = await at.member();
    await member.join('a', requests[0] ?? {});
    await member.sequence('a', ['joined']);
    await at.fabric.console('Baselid "Hca2"[1] 77');
    await member.sequence('a', ['joined', 'reset lid-change']);
    expect(await at.groups()).toEqual(['ff12:cafe::41']);
    expect(await member.finish()).toMatchObject({ code: 0, signal: null });
    expect(await at.groups()).toEqual([]);
  });

  it(`leaves at process.exit(), ${String(TIMES)} of ${String(TIMES)}`, async () => {
    for (let i = 0; i < TIMES; i += 1) {
      const member = await joined();
      member.send('exit', { code: 7 });
      expect(await member.ended).toMatchObject({ code: 7, signal: null });
      expect(await at.groups()).toEqual([]);
    }
  });

  it(`leaves at process.exit() in the middle of joining, ${String(TIMES)} of ${String(TIMES)}`, async () => {
    for (let i = 0; i < TIMES; i += 1) {
      const member = await at.member();
      member.send('together', {
        list: [
          ...requests.map((request, id) => ({ do: 'join', id: String(id), request })),
          { do: 'exit', code: 7 },
        ],
      });
      expect(await member.ended).toMatchObject({ code: 7, signal: null });
      expect(await at.groups()).toEqual([]);
    }
  });

  it(`leaves after an uncaught exception, ${String(TIMES)} of ${String(TIMES)}`, async () => {
    for (let i = 0; i < TIMES; i += 1) {
      const member = await joined();
      member.send('throw');
      const end = await member.ended;
      expect(end).toMatchObject({ code: 1, signal: null });
      expect(end.output).toContain('uncaught on purpose');
      expect(await at.groups()).toEqual([]);
    }
  });

  it(`leaves what a terminated worker had joined, ${String(TIMES)} of ${String(TIMES)}`, async () => {
    const member = await at.member();
    for (let i = 0; i < TIMES; i += 1) {
      const name = `w${String(i)}`;
      await member.command('worker', { name });
      await member.says((said) => said.type === 'ready' && said.worker === name);
      for (const [id, request] of requests.entries()) {
        await member.command('inWorker', {
          name,
          command: { do: 'join', id: `${name}-${String(id)}`, request },
        });
      }
      await member.says(
        () =>
          member.said.filter((said) => said.worker === name && said.type === 'joined').length === 3,
      );
      await member.command('terminate', { name });
      expect(await at.groups()).toEqual([]);
    }
    expect(await member.finish()).toMatchObject({ code: 0, signal: null });
  });

  it('leaves what main thread and worker share when the main thread exits', async () => {
    const member = await joined();
    await member.command('worker', { name: 'w' });
    await member.says((said) => said.type === 'ready' && said.worker === 'w');
    await member.command('inWorker', {
      name: 'w',
      command: {
        do: 'join',
        id: 'w-a',
        request: { record: { mgid: 'ff12:cafe::49', ...creation } },
      },
    });
    await member.says((said) => said.id === 'w-a' && said.type === 'joined');
    member.send('exit', { code: 0 });
    expect(await member.ended).toMatchObject({ code: 0, signal: null });
    expect(await at.groups()).toEqual([]);
  });
});

describe('a process with a service', () => {
  const at = withFabric({ hosts: 3 });
  const LEASE_SECONDS = 2;
  const service = { serviceId: '12288n', name: 'exits', leaseSeconds: LEASE_SECONDS };

  /** How many of it another host finds. */
  async function found(asker: MemberProcess): Promise<number> {
    const args = [{ name: service.name }];
    const asked = (await asker.command('query', { name: 'queryServices$', args })) as Asked;
    expect(asked.code).toBeUndefined();
    return asked.records.length;
  }

  async function registered(asker: MemberProcess): Promise<MemberProcess> {
    const member = await at.member();
    await member.command('register', { id: 's', service });
    await member.sequence('s', ['joined']);
    expect(await found(asker)).toBe(1);
    return member;
  }

  it('deletes it: unsubscribed, at process.exit(), after an uncaught exception, with its worker', async () => {
    const asker = await at.member('Hca3');
    const returning = await registered(asker);
    await returning.leave('s');
    expect(await returning.finish()).toMatchObject({ code: 0, signal: null });
    expect(await found(asker)).toBe(0);

    const exiting = await registered(asker);
    exiting.send('exit', { code: 7 });
    expect(await exiting.ended).toMatchObject({ code: 7, signal: null });
    expect(await found(asker)).toBe(0);

    const throwing = await registered(asker);
    throwing.send('throw');
    expect(await throwing.ended).toMatchObject({ code: 1, signal: null });
    expect(await found(asker)).toBe(0);

    const threaded = await at.member();
    await threaded.command('worker', { name: 'w' });
    await threaded.says((said) => said.type === 'ready' && said.worker === 'w');
    const command = { do: 'register', id: 's', service };
    await threaded.command('inWorker', { name: 'w', command });
    await threaded.sequence('s', ['joined']);
    expect(await found(asker)).toBe(1);
    await threaded.command('terminate', { name: 'w' });
    expect(await found(asker)).toBe(0);
    await threaded.finish();
    await asker.finish();
  });

  it('deletes it when it exits in the middle of registering', async () => {
    const asker = await at.member('Hca3');
    for (let i = 0; i < TIMES; i += 1) {
      const member = await at.member();
      member.send('together', {
        list: [
          { do: 'register', id: 's', service },
          { do: 'exit', code: 7 },
        ],
      });
      expect(await member.ended).toMatchObject({ code: 7, signal: null });
      expect(await found(asker)).toBe(0);
    }
    await asker.finish();
  });

  it('leaves it to its lease when it is killed', async () => {
    const asker = await at.member('Hca3');
    const member = await registered(asker);
    // Renewed so far: it has lived for longer than its lease.
    await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASE_SECONDS * 1000));
    expect(await found(asker)).toBe(1);
    member.signal('SIGKILL');
    await member.ended;
    await at.fabric.disconnect(member.pid);
    const limit = performance.now() + 10_000;
    while ((await found(asker)) > 0 && performance.now() < limit) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await found(asker)).toBe(0);
    await asker.finish();
  });
});
