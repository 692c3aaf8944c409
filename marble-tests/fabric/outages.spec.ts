import { describe, expect, it } from 'vitest';
import { creation, withFabric } from './fabric-test.js';

const rejoin = { initialDelayMs: 100, maxDelayMs: 500, jitter: 0 };

describe('a subnet manager that is silent', () => {
  const at = withFabric({ hosts: 3 }, true);

  it('gives ETIMEDOUT after the request timeout, and leaves nothing once it goes on', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    fabric.opensm.pause();
    const started = performance.now();
    await member.join(
      'a',
      { record: { mgid: 'ff12:cafe::20', ...creation } },
      { provider: { requestTimeoutMs: 900 } },
    );
    expect(await member.says((said) => said.type === 'error')).toMatchObject({ code: 'ETIMEDOUT' });
    expect(performance.now() - started).toBeGreaterThan(890);
    fabric.opensm.resume();
    await member.command('idle');
    expect(await at.groups()).toEqual([]);
    expect((await member.stats({ requestTimeoutMs: 900 })).compensatingLeaves).toBeGreaterThan(0);
    await member.finish();
  });

  it('is waited for no shorter when it is dead and requests come back at once', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    await fabric.opensm.kill();
    const started = performance.now();
    await member.join(
      'a',
      { record: { mgid: 'ff12:cafe::21', ...creation } },
      { provider: { requestTimeoutMs: 900 } },
    );
    expect(await member.says((said) => said.type === 'error')).toMatchObject({ code: 'ETIMEDOUT' });
    expect(performance.now() - started).toBeGreaterThan(890);
    expect(await member.stats({ requestTimeoutMs: 900 })).toMatchObject({ joinsSent: 1 });
  });
});

describe('an outage', () => {
  const at = withFabric({ hosts: 4 }, true);

  it('a restart behind a membership is found by the audit, and it rejoins', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::30', ...creation } };
    await member.join('a', request, { provider: { auditIntervalMs: 300 }, rejoin });
    await member.sequence('a', ['joined']);
    await fabric.opensm.restart();
    await member.sequence('a', ['joined', 'reset membership-lost', 'joined']);
    expect(await at.groups()).toEqual(['ff12:cafe::30']);
    await member.leave('a');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('a takeover resets, and it rejoins at the new manager', async () => {
    const fabric = await at.fresh();
    const standby = await fabric.startStandby('Hca3');
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::31', ...creation } };
    await member.join('a', request, { rejoin });
    await member.sequence('a', ['joined']);
    await fabric.opensm.kill();
    await standby.master();
    await member.sequence('a', ['joined', 'reset sm-change', 'joined'], 40_000);
    const groups = await fabric.groupsOf(standby);
    expect(groups.map((group) => group.mgid)).toContain('ff12:cafe::31');
    await member.leave('a');
    await member.finish();
  });

  it('a link that goes down and up resets, and it rejoins', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::32', ...creation } };
    await member.join('a', request, { rejoin });
    await member.sequence('a', ['joined']);
    await fabric.console('Unlink "Hca2"[1]');
    await member.sequence('a', ['joined', 'reset port-error']);
    await fabric.console('ReLink "Hca2"[1]');
    fabric.opensm.sweep();
    await member.sequence('a', ['joined', 'reset port-error', 'joined'], 40_000);
    expect(await at.groups()).toEqual(['ff12:cafe::32']);
    await member.leave('a');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('another LID resets, and it rejoins', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::33', ...creation } };
    await member.join('a', request, { rejoin });
    await member.sequence('a', ['joined']);
    await fabric.console('Baselid "Hca2"[1] 77');
    await member.sequence('a', ['joined', 'reset lid-change', 'joined'], 40_000);
    await member.leave('a');
    await member.finish();
  });

  it('a reply lost after execution leaves no membership behind', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    // Every packet towards the port is lost: OpenSM executes the request, nobody hears of it.
    await fabric.console('Error "Hca2"[1] 100');
    await member.join(
      'a',
      { record: { mgid: 'ff12:cafe::34', ...creation } },
      { provider: { requestTimeoutMs: 600 } },
    );
    await member.sequence('a', ['error ETIMEDOUT']);
    await fabric.console('Error "Hca2"[1] 0');
    await member.command('idle');
    expect(await at.groups()).toEqual([]);
    await member.finish();
  });
});
