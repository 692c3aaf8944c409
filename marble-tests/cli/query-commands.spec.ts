// groups, members, path, events and service on an embedded fabric that the test makes something of.
import { Command } from 'commander';
import type { Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/cli/exit-code.js';
import { declareQueries } from '../../src/cli/query-flags.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { queryServices$ } from '../../src/observable/query.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric } from '../../src/providers/embedded-fabric.js';
import { runCli } from './cli-process.js';
import { FakeTerminal } from './fake-terminal.js';

const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

let fabric: EmbeddedFabric;
let terminal: FakeTerminal;
const members: Subscription[] = [];

beforeEach(() => {
  // What fits one MAD, so that there is something to be cut.
  fabric = embeddedFabric({ rmpp: false, auditIntervalMs: 0 });
  terminal = new FakeTerminal();
});

afterEach(async () => {
  for (const member of members.splice(0)) member.unsubscribe();
  await fabric.close();
});

/** Runs a command on the fabric of the test, with a terminal of its own; resolves with its code. */
async function run(...args: string[]): Promise<number | undefined> {
  let code: number | undefined;
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  declareQueries(
    program,
    terminal,
    (ended) => {
      code = ended;
    },
    () => fabric,
  );
  await program.parseAsync(args, { from: 'user' });
  return code;
}

function join(device: string, mgid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const joined$ = joinMulticast$({
      provider: fabric,
      device,
      port: 1,
      record: { mgid, ...creation },
    });
    members.push(
      joined$.subscribe({
        next: () => {
          resolve();
        },
        error: reject,
      }),
    );
  });
}

/** Resolves once so many lines have been printed. */
async function printed(count: number): Promise<void> {
  while (terminal.lines.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('groups', () => {
  it('lists them in a table with aligned columns', async () => {
    await join('embedded0', 'ff12:cafe::10');
    expect(await run('groups')).toBe(0);
    expect(terminal.lines).toEqual([
      'MGID                       MLID    MTU   RATE     Q_KEY  P_KEY   SL',
      'ff12:401b:ffff::ffff:ffff  0xc000  2048  10 Gb/s  0xb1b  0xffff  0',
      'ff12:cafe::10              0xc001  2048  10 Gb/s  0xb1b  0xffff  0',
    ]);
    expect(terminal.notes).toEqual([]);
  });

  it('--json: one object per record and line, with every field', async () => {
    await join('embedded0', 'ff12:cafe::10');
    expect(await run('groups', '--json')).toBe(0);
    expect(terminal.events).toMatchObject([
      { mgid: 'ff12:401b:ffff::ffff:ffff' },
      { mgid: 'ff12:cafe::10', mlid: 0xc001, qkey: 0xb1b, mtu: 2048, rate: 10, joinState: [] },
    ]);
  });

  it('shows what came and ends with 1 when there were more', async () => {
    for (const n of [1, 2, 3]) await join('embedded0', `ff12:cafe::${String(n)}`);
    expect(await run('groups')).toBe(1);
    expect(terminal.lines).toHaveLength(4);
    expect(terminal.notes).toEqual([
      'EMSGSIZE: there are more records than the 3 that the transport could carry',
    ]);
  });

  it('ends with 1 and a reason when nobody answers', async () => {
    const silent = embeddedFabric({ requestTimeoutMs: 30 });
    silent.dropRequests(Infinity);
    await fabric.close();
    fabric = silent;
    expect(await run('groups')).toBe(1);
    expect(terminal.lines).toEqual([]);
    expect(terminal.notes).toEqual([expect.stringMatching(/^embedded0\/1: ETIMEDOUT: no answer/)]);
  });

  it('ends with the code of a signal, and asks no more', async () => {
    fabric.silenceSm();
    const code = run('groups');
    terminal.signal('SIGTERM');
    expect(await code).toBe(143);
    expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
  });
});

describe('members', () => {
  it('lists ports and join states for those who have the key', async () => {
    await join('embedded0', 'ff12:cafe::10');
    await join('embedded1', 'ff12:cafe::10');
    const gids = fabric.ports().map(({ gid }) => gid);
    expect(await run('members', 'FF12:CAFE::10', '--sm-key', '0x1')).toBe(0);
    expect(terminal.lines).toEqual([
      'MGID           MLID    PORT GID           JOIN STATE',
      ...gids.map((gid) => `ff12:cafe::10  0xc001  ${gid}  full-member`),
    ]);
  });

  it('says without the key that there is such a group, and "none" when there is not', async () => {
    await join('embedded0', 'ff12:cafe::10');
    expect(await run('members', 'ff12:cafe::10')).toBe(0);
    expect(terminal.lines[1]).toBe('ff12:cafe::10  0xc001  ::        -');
    expect(await run('members', 'ff12:cafe::11')).toBe(0);
    expect(terminal.lines[2]).toBe('none');
    expect(await run('members', 'ff12:cafe::11', '--json')).toBe(0);
    expect(terminal.lines).toHaveLength(3);
  });
});

describe('path', () => {
  it('lists the path from one port to another', async () => {
    const [from = '', to = ''] = fabric.ports().map(({ gid }) => gid);
    expect(await run('path', from, to)).toBe(0);
    expect(terminal.lines).toEqual([
      'SGID               DGID               SLID  DLID  MTU   RATE     LIFETIME  P_KEY   SL',
      `${from}  ${to}  2     3     2048  10 Gb/s  18        0xffff  0`,
    ]);
    expect(await run('path', from, to, '--json')).toBe(0);
    expect(JSON.parse(terminal.lines[2] ?? '')).toMatchObject({
      sgid: from,
      dgid: to,
      serviceId: '0x0',
      reversible: true,
    });
    expect(await run('path', from, 'fe80::dead')).toBe(0);
    expect(terminal.lines[3]).toBe('none');
  });
});

describe('service', () => {
  it('is registered until the command is ended, and found meanwhile', async () => {
    const registering = run('service', 'register', '0x1000', '--name', 'quotes', '--lease', '30s');
    await printed(1);
    const [gid = ''] = fabric.ports().map((info) => info.gid);
    const [time = '', ...words] = terminal.lines[0]?.trim().split(/ +/) ?? [];
    expect(time).toMatch(/^\d+\.\d{3}s$/);
    expect(words).toEqual(['registered', '0x0000000000001000', 'quotes', gid]);
    expect(await run('service', 'find', '--name', 'quotes')).toBe(0);
    expect(terminal.lines.slice(1)).toEqual([
      'SERVICE ID          NAME    GID                P_KEY   LEASE',
      `0x0000000000001000  quotes  ${gid}  0xffff  30s`,
    ]);
    terminal.signal('SIGTERM');
    expect(await registering).toBe(143);
    terminal = new FakeTerminal();
    expect(await run('service', 'find', '--service-id', '4096')).toBe(0);
    expect(terminal.lines).toEqual(['none']);
  });

  it('--json, --for: events and records as objects, and 0 at the end', async () => {
    const registering = run('service', 'register', '7', '--json', '--for', '1s', '--lease', 'inf');
    await printed(1);
    expect(terminal.events).toMatchObject([
      { type: 'joined', status: 0, record: { serviceId: '0x7', leaseSeconds: 'inf' } },
    ]);
    expect(await run('service', 'find', '--json')).toBe(0);
    expect(terminal.events[1]).toMatchObject({ serviceId: '0x7', pkey: 0xffff });
    expect(await registering).toBe(0);
    const left: unknown[] = [];
    await queryServices$({ provider: fabric }).forEach((record) => left.push(record));
    expect(left).toEqual([]);
  });

  it('ends with 1 when the registration fails', async () => {
    fabric.answerWith(0x0100, Infinity, 'set');
    expect(await run('service', 'register', '7')).toBe(1);
    expect(terminal.lines).toEqual([
      expect.stringMatching(
        /^ +\d+\.\d{3}s {2}error {7}0x0000000000000007 {2}.*EINVAL.* no room for another service/,
      ),
    ]);
    expect(terminal.notes).toEqual([]);
  });
});

describe('events', () => {
  it('prints an aligned line per event until it is ended', async () => {
    const watching = run('events');
    await printed(1);
    await join('embedded1', 'ff12:cafe::10');
    await printed(2);
    fabric.takeover(9);
    await printed(4);
    expect(terminal.lines).toEqual([
      expect.stringMatching(/^ +\d+\.\d{3}s {2}subscribed$/),
      expect.stringMatching(/^ +\d+\.\d{3}s {2}created {5}ff12:cafe::10$/),
      expect.stringMatching(/^ +\d+\.\d{3}s {2}lost {8}sm-change$/),
      expect.stringMatching(/^ +\d+\.\d{3}s {2}subscribed$/),
    ]);
    terminal.signal('SIGINT');
    expect(await watching).toBe(130);
    expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
  });

  it('--json, --for: one object per event, and 0 at the end', async () => {
    const watching = run('events', '--json', '--for', '1s');
    await printed(1);
    await join('embedded1', 'ff12:cafe::10');
    expect(await watching).toBe(0);
    expect(terminal.events).toEqual([
      { type: 'subscribed' },
      { type: 'created', mgid: 'ff12:cafe::10' },
    ]);
  });

  it('ends with 1 while another program has the reports', async () => {
    const watching = run('events');
    await printed(1);
    const owner = fabric;
    // Another process on the port, as it were.
    fabric = owner.client() as unknown as EmbeddedFabric;
    expect(await run('events')).toBe(1);
    expect(terminal.notes).toEqual([expect.stringMatching(/EBUSY: another program on this port/)]);
    fabric = owner;
    terminal.signal('SIGTERM');
    expect(await watching).toBe(143);
  });

  it('ends quietly once its reader has gone', async () => {
    const watching = run('events');
    await printed(1);
    terminal.endOutput();
    expect(await watching).toBe(0);
    expect(terminal.notes).toEqual([]);
  });
});

describe('wrong usage', () => {
  it.each([
    [['members', 'fe80::1'], /'fe80::1' is/],
    [['members', 'ff12::1', '--sm-key', 'x'], /Expected an integer from 0 to 2\^64-1/],
    [['path', 'fe80::1'], /missing required argument 'dgid'/],
    [['path', 'here', 'there'], /'here' is/],
    [['service', 'register'], /missing required argument 'service-id'/],
    [['service', 'register', '-1'], /'-1' is invalid .*Expected an integer from 0/],
    [['service', 'register', '1', '--lease', '500ms'], /Expected whole seconds/],
    [['service', 'register', '1', '--lease', '5'], /Expected whole seconds/],
    [['service', 'register', '1', '--lease', '0s'], /above 0/],
    [['events', '--for', 'long'], /Expected a duration/],
  ])('%j', async (args, message) => {
    await expect(run(...args)).rejects.toThrow(message);
    expect(terminal.lines).toEqual([]);
  });

  it('is what a query of values that do not fit is, too', async () => {
    await expect(run('service', 'register', '1', '--name', 'x'.repeat(65))).rejects.toThrow(
      UsageError,
    );
    await expect(run('groups', '--device', '')).rejects.toThrow(UsageError);
  });
});

describe('the program', () => {
  it.each([
    [['groups'], 0, /^MGID .*\nff12:401b:ffff::ffff:ffff .*\n$/],
    [['members', 'ff12::1'], 0, /^none\n$/],
    [['path', 'fe80::1', 'fe80::2', '--json'], 0, /^$/],
    [['service', 'find'], 0, /^none\n$/],
    [['service', 'register', '1', '--for', '1s'], 0, /^ +\d+\.\d{3}s {2}registered .*\n$/],
    [['events', '--for', '1s', '--json'], 0, /^\{"type":"subscribed"\}\n$/],
    [['groups', '--device', 'mlx5_9'], 1, /^$/],
  ])('%j ends with %d, saying that it simulates', async (args, expected, output) => {
    const { code, stdout, stderr } = await runCli(...args, '--provider', 'embedded');
    expect(stdout).toMatch(output);
    expect(stderr).toMatch(/^rx-ib-multicast: this is a simulation/);
    expect(code).toBe(expected);
  });

  it.each([
    [['groups']],
    [['members', 'ff12::1']],
    [['path', 'fe80::1', 'fe80::2']],
    [['events']],
    [['service', 'find']],
    [['service', 'register', '1']],
  ])('%j without a port to ask says what is missing', async (args) => {
    const { code, stdout, stderr } = await runCli(...args, '--device', 'rxib9');
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/no InfiniBand|there is no device|cannot be loaded/);
    expect(stdout + stderr).not.toMatch(/'none'|umad\(\)/);
  });

  it('devices --provider embedded lists the ports of the simulation', async () => {
    const { code, stdout, stderr } = await runCli('devices', '--provider', 'embedded', '--json');
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { devices: unknown }).devices).toMatchObject([
      { device: 'embedded0', port: 1, linkLayer: 'infiniband' },
      { device: 'embedded1', port: 1, linkLayer: 'infiniband' },
    ]);
    expect(stderr).toMatch(/^rx-ib-multicast: this is a simulation/);
  });
});
