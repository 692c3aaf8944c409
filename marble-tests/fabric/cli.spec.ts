import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startFabric } from '../../scripts/fabric/simulator.mjs';
import type { SimulatedFabric } from '../../scripts/fabric/simulator.mjs';
import { CliProcess } from '../cli/cli-process.js';

const mgid = 'ff12:cafe::10';
const creating = '--qkey 0xb1b --pkey 0xffff --sl 0 --traffic-class 0 --flow-label 0'.split(' ');
const created = ['join', mgid, '--provider', 'umad', ...creating, '--json'];

let fabric: SimulatedFabric;
const running: CliProcess[] = [];

beforeAll(async () => {
  fabric = await startFabric({ hosts: 4 });
});

afterEach(async () => {
  fabric.opensm.resume();
  for (const cli of running.splice(0)) {
    cli.kill();
    await cli.ended;
    await fabric.disconnect(cli.pid);
  }
  if (!fabric.opensm.running) await fabric.opensm.start();
});

afterAll(async () => {
  await fabric.stop();
});

function start(args: readonly string[], host = 'Hca2'): CliProcess {
  const cli = new CliProcess(args, fabric.env(host));
  running.push(cli);
  return cli;
}

/** What saquery on another host says of the group. */
async function listed(): Promise<Record<string, string> | undefined> {
  const groups = await fabric.records('Hca3', '-g');
  return groups.find((group) => group['MGID'] === mgid);
}

async function members(): Promise<unknown[]> {
  return (await fabric.groups()).find((group) => group.mgid === mgid)?.members ?? [];
}

describe('a membership', () => {
  it('--for: joined with the MLID of OpenSM, seen from another host, gone at the end', async () => {
    const cli = start([...created, '--for', '3s']);
    await cli.lines(1);
    const group = await listed();
    const [joined] = cli.events as [{ type: string; record: { mlid: number } }];
    expect(joined).toMatchObject({ type: 'joined', status: 0, mgid, record: { qkey: 0xb1b } });
    expect(Number(group?.['Mlid'])).toBe(joined.record.mlid);
    const { code, stderr } = await cli.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(await listed()).toBeUndefined();
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s: left, %d', async (signal, code) => {
    const cli = start(created);
    await cli.lines(1);
    expect(await listed()).toBeDefined();
    cli.signal(signal);
    expect(await cli.ended).toMatchObject({ code, signal: null, stderr: '' });
    expect(await listed()).toBeUndefined();
  });

  it('SIGINT during the join: no event, and no member afterwards', async () => {
    fabric.opensm.pause();
    const cli = start(created);
    await cli.handlesSignals();
    // Long enough for the Set to be on its way, not for its timeout.
    await new Promise((resolve) => setTimeout(resolve, 500));
    cli.signal('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 200));
    fabric.opensm.resume();
    expect(await cli.ended).toMatchObject({ code: 130, stdout: '' });
    expect(await members()).toEqual([]);
  });

  it('a second signal gives up waiting for a subnet manager that is silent', async () => {
    const cli = start(created);
    await cli.lines(1);
    fabric.opensm.pause();
    cli.signal('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = performance.now();
    cli.signal('SIGINT');
    const { code, stderr } = await cli.ended;
    expect(performance.now() - before).toBeLessThan(1_900);
    expect(code).toBe(143);
    expect(stderr).toContain('gave up waiting');
  });

  it('--rejoin: reset and joined again after a restart that no event tells', async () => {
    const cli = start([...created, '--rejoin', '--audit-interval', '1s']);
    await cli.lines(1);
    await fabric.opensm.restart();
    await cli.lines(3);
    expect(cli.events).toMatchObject([
      { type: 'joined' },
      { type: 'reset', status: -102, code: 'ENETRESET', reason: 'membership-lost' },
      { type: 'joined' },
    ]);
    expect(await members()).toHaveLength(1);
    cli.signal('SIGTERM');
    expect(await cli.ended).toMatchObject({ code: 143 });
    expect(await members()).toEqual([]);
  });

  it('without --rejoin a reset ends it with 1', async () => {
    const cli = start([...created, '--audit-interval', '1s']);
    await cli.lines(1);
    await fabric.opensm.restart();
    expect(await cli.ended).toMatchObject({ code: 1 });
    expect(cli.events[1]).toMatchObject({ type: 'reset', reason: 'membership-lost' });
  });
});

describe('a failure', () => {
  it('names what is missing to create the group', async () => {
    const cli = start(['join', mgid, '--provider', 'umad', '--json']);
    expect(await cli.ended).toMatchObject({ code: 1 });
    expect(cli.events).toMatchObject([
      { type: 'error', status: -22, mgid, code: 'EINVAL', saStatusName: 'INSUFFICIENT_COMPONENTS' },
    ]);
    for (const field of ['qkey', 'pkey', 'sl', 'trafficClass', 'flowLabel']) {
      expect(cli.events[0]?.['message']).toContain(field);
    }
  });

  it('names the field in which a newcomer differs, and leaves the member alone', async () => {
    const member = start(created);
    await member.lines(1);
    const other = start(['join', mgid, '--provider', 'umad', '--qkey', '1', '--json'], 'Hca3');
    expect(await other.ended).toMatchObject({ code: 1 });
    expect(other.events).toMatchObject([
      { type: 'error', code: 'EINVAL', saStatusName: 'REQ_INVALID' },
    ]);
    expect(other.events[0]?.['message']).toMatch(/fields: qkey$/);
    expect(await members()).toHaveLength(1);
    expect(member.events).toHaveLength(1);
  });

  it('OpenSM stopped: ETIMEDOUT after --request-timeout, and nothing is left once it goes on', async () => {
    fabric.opensm.pause();
    const before = performance.now();
    const cli = start([...created, '--request-timeout', '1500ms']);
    await cli.lines(1);
    const took = performance.now() - before;
    expect(cli.events).toMatchObject([{ type: 'error', status: -110, code: 'ETIMEDOUT' }]);
    expect(took).toBeGreaterThan(1_400);
    expect(took).toBeLessThan(10_000);
    expect(await cli.ended).toMatchObject({ code: 1 });
    fabric.opensm.resume();
    expect(await members()).toEqual([]);
  });

  it('OpenSM killed: ETIMEDOUT, and not before --request-timeout', async () => {
    await fabric.opensm.kill();
    const before = performance.now();
    const cli = start([...created, '--request-timeout', '1500ms']);
    await cli.lines(1);
    expect(performance.now() - before).toBeGreaterThan(1_400);
    expect(cli.events).toMatchObject([{ type: 'error', status: -110, code: 'ETIMEDOUT' }]);
    expect(await cli.ended).toMatchObject({ code: 1 });
  });
});

it('devices: the port of the host, and umad usable', async () => {
  const cli = start(['devices', '--json']);
  const { code, stdout } = await cli.ended;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    devices: [{ port: 1, state: 'active', linkLayer: 'infiniband', pkeys: [0xffff] }],
    capabilities: { umad: { usable: true } },
  });
});
