import { describe, expect, it } from 'vitest';
import { creation, withFabric } from './fabric-test.js';

// Two processes on one host are two SA clients on one port: OpenSM cannot tell them apart.
describe('neighbours on one port', () => {
  const at = withFabric({ hosts: 3 });
  const always = { provider: { probe: 'always' } } as const;
  // The broadcast group of the default partition, as an IPoIB interface joins it.
  const broadcast = { record: { mgid: 'ff12:401b:ffff::ffff:ffff' } };

  async function statesOf(mgid: string): Promise<number[]> {
    const group = (await at.fabric.groups()).find((one) => one.mgid === mgid);
    return (group?.members ?? []).map(({ joinState }) => joinState);
  }

  it('an IPoIB group that a neighbour had joined before is not left for it', async () => {
    const neighbour = await at.member();
    await neighbour.join('n', broadcast);
    await neighbour.sequence('n', ['joined']);
    // The first of both is alone, and its own membership it does leave.
    expect(await neighbour.stats()).toMatchObject({ probes: 1, borrowed: 0 });

    const member = await at.member();
    await member.join('m', broadcast);
    await member.sequence('m', ['joined']);
    expect(await member.stats()).toMatchObject({ probes: 2, borrowed: 1, joinsSent: 1 });
    await member.leave('m');
    await member.command('idle');
    expect(await member.stats()).toMatchObject({ borrowed: 0, leavesSent: 0, groups: 0 });
    expect((await member.finish()).code).toBe(0);
    expect(await statesOf(broadcast.record.mgid)).toEqual([1]);

    await neighbour.leave('n');
    await neighbour.finish();
    expect(await statesOf(broadcast.record.mgid)).toEqual([]);
  });

  it('of several join states the neighbour keeps its own', async () => {
    const record = { mgid: 'ff12:cafe::61', ...creation };
    const neighbour = await at.member();
    await neighbour.join('n', { record });
    await neighbour.sequence('n', ['joined']);

    const member = await at.member();
    const joinState = ['full-member', 'send-only-non-member'] as const;
    await member.join('m', { record: { ...record, joinState } }, always);
    await member.sequence('m', ['joined']);
    expect(await statesOf(record.mgid)).toEqual([5]);
    await member.leave('m');
    await member.finish();
    expect(await statesOf(record.mgid)).toEqual([1]);

    await neighbour.leave('n');
    await neighbour.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('two workers of one process share, and are no neighbours to each other', async () => {
    const member = await at.member();
    for (const name of ['a', 'b']) {
      await member.command('worker', { name });
      await member.says((said) => said.type === 'ready' && said.worker === name);
      await member.command('inWorker', {
        name,
        command: { do: 'join', id: name, request: broadcast, serial: 0 },
      });
      await member.sequence(name, ['joined']);
    }
    await member.command('terminate', { name: 'a' });
    expect(await statesOf(broadcast.record.mgid)).toEqual([1]);
    await member.command('terminate', { name: 'b' });
    await member.finish();
    expect(await statesOf(broadcast.record.mgid)).toEqual([]);
  });

  it("does not take its own membership, left standing by a LID change, for a neighbour's", async () => {
    const request = { record: { mgid: 'ff12:cafe::63', ...creation } };
    const member = await at.member();
    const rejoin = { initialDelayMs: 50, jitter: 0 };
    await member.join('m', request, { ...always, rejoin });
    await member.sequence('m', ['joined']);
    await at.fabric.console('Baselid "Hca2"[1] 77');
    await member.sequence('m', ['joined', 'reset lid-change']);
    expect(await statesOf(request.record.mgid)).toEqual([1]);
    // The sweep for that has given the port its old LID again, so that answers reach it.
    await member.sequence('m', ['joined', 'reset lid-change', 'joined']);
    expect(await member.stats(always.provider)).toMatchObject({ probes: 1, borrowed: 0 });
    await member.leave('m');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('finds what a killed process has left behind, and leaves it there', async () => {
    const request = { record: { mgid: 'ff12:cafe::62', ...creation } };
    const killed = await at.member();
    await killed.join('k', request);
    await killed.sequence('k', ['joined']);
    killed.signal('SIGKILL');
    await killed.ended;
    await at.fabric.disconnect(killed.pid);
    expect(await at.groups()).toEqual(['ff12:cafe::62']);

    const next = await at.member();
    await next.join('x', request, always);
    await next.sequence('x', ['joined']);
    expect(await next.stats(always.provider)).toMatchObject({ borrowed: 1 });
    await next.leave('x');
    await next.finish();
    expect(await at.groups()).toEqual(['ff12:cafe::62']);

    // Without the probe it is taken for one's own, and is left.
    const last = await at.member();
    await last.join('x', request, { provider: { probe: 'never' } });
    await last.sequence('x', ['joined']);
    await last.leave('x');
    await last.finish();
    expect(await at.groups()).toEqual([]);
  });
});
