import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';

const simulated = ['--provider', 'embedded'];
const creating = '--qkey 0xb1b --pkey 0xffff --sl 0 --traffic-class 0 --flow-label 0'.split(' ');
const join = ['join', 'ff12:cafe::10', ...simulated, ...creating];

const running: CliProcess[] = [];

function start(args: readonly string[], env?: NodeJS.ProcessEnv): CliProcess {
  const cli = new CliProcess(args, env);
  running.push(cli);
  return cli;
}

afterEach(() => {
  for (const cli of running.splice(0)) cli.kill();
});

describe('join', () => {
  it('prints one JSON object per event, and nothing else on stdout', async () => {
    const { code, stdout, stderr } = await runCli(...join, '--until', 'joined', '--json');
    expect(code).toBe(0);
    expect(stdout.endsWith('\n')).toBe(true);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toMatchObject([
      { type: 'joined', status: 0, mgid: 'ff12:cafe::10', record: { qkey: 0xb1b, mlid: 0xc001 } },
    ]);
    expect(stderr).toMatch(/^rx-ib-multicast: this is a simulation: .*\n$/);
  });

  it('prints aligned lines for people', async () => {
    const { code, stdout } = await runCli(...join, '--until', 'joined');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ +\d+\.\d{3}s {2}joined {2}ff12:cafe::10 {2}mlid 0xc001 {2}.*\n$/);
  });

  it('has every value of the record set by its flag', async () => {
    const { stdout } = await runCli(
      ...['join', 'ff15::7', ...simulated, '--json', '--until', 'joined'],
      ...'--qkey 7 --pkey 0x7fff --mtu 1024 --rate 5 --sl 3 --traffic-class 0x10'.split(' '),
      ...'--flow-label 0xabcde --join-state full-member,send-only-non-member'.split(' '),
      ...'--device embedded1 --port 1 --join-timeout inf --request-timeout 1s'.split(' '),
      ...'--audit-interval 0 --probe always'.split(' '),
    );
    expect(JSON.parse(stdout)).toMatchObject({
      record: {
        qkey: 7,
        mtu: 1024,
        rate: 5,
        sl: 3,
        trafficClass: 0x10,
        flowLabel: 0xabcde,
        joinState: ['full-member', 'send-only-non-member'],
      },
    });
  });

  it('fails with 1 where the group cannot be created', async () => {
    const { code, stdout } = await runCli('join', '239.1.2.3', ...simulated, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'error',
      mgid: 'ff12:401b:ffff::f01:203',
      code: 'EINVAL',
      saStatusName: 'INSUFFICIENT_COMPONENTS',
    });
  });

  it('fails with 1 on a device that does not exist, and lists those that do', async () => {
    const { code, stdout } = await runCli(...join, '--device', 'mlx5_9');
    expect(code).toBe(1);
    expect(stdout).toMatch(/ENODEV: there is no device 'mlx5_9'; there are embedded0 port 1/);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s: leaves, then ends with %d', async (signal, code) => {
    const cli = start([...join, '--json']);
    await cli.lines(1);
    cli.signal(signal);
    expect(await cli.ended).toMatchObject({ code, signal: null });
  });

  it('ends quietly once its reader has gone', async () => {
    // The first event comes after the reader has gone.
    const cli = start(['join', 'ff12::1', ...simulated, '--json']);
    cli.closeOutput();
    const { code, stderr } = await cli.ended;
    expect([0, 1]).toContain(code);
    expect(stderr).toMatch(/^rx-ib-multicast: this is a simulation: .*\n$/);
  });

  it('prints no warnings of Node', async () => {
    const env = { ...process.env, NODE_OPTIONS: '--pending-deprecation' };
    const cli = start([...join, '--for', '10ms', '--json'], env);
    expect((await cli.ended).stderr).not.toMatch(/Warning/);
  });
});

describe('wrong usage ends with 2, names the flag, what was given and what is accepted', () => {
  it.each([
    [['--qkey', 'zz'], /'--qkey <number>' argument 'zz' is invalid\. Expected an integer from 0/],
    [['--sl', '-1'], /'--sl <number>' argument '-1' is invalid\. Expected an integer from 0 to 15/],
    [['--for', '5'], /'--for <duration>' argument '5' is invalid\. Expected a duration such as/],
    [['--until', 'x'], /'--until <event>' argument 'x' is invalid\. .* joined, reset, error/],
    [
      ['--provider', 'x'],
      /'--provider <name>' argument 'x' is invalid\. .* umad, rdmacm, embedded/,
    ],
    [
      ['--request-timeout', '0.5ms', ...simulated],
      /'--request-timeout <duration>' argument '0.5ms' is invalid\. .* at least 1ms and at most 596h/,
    ],
    [['--qkey'], /'--qkey <number>' argument missing/],
    [
      ['--frobnicate'],
      /unknown option '--frobnicate'\nExpected --provider <name>, .*--json, --help/,
    ],
    [['extra'], /too many arguments/],
  ])('join %j', async (flags, message) => {
    const { code, stdout, stderr } = await runCli('join', 'ff12::1', ...flags);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it.each([
    [['join'], /missing required argument 'group'/],
    [['join', 'ff12::zz'], /'ff12::zz' is no GID: .* Expected an MGID such as/],
    [['leave'], /unknown command 'leave'/],
    [['devices', '--jsn'], /unknown option '--jsn'\n.*Expected --provider <name>, --json, --help/s],
    [['join', '239.1.2.3', '--pkey', '0', ...simulated], /^error: --pkey 0 is invalid/],
    [['groups', '--provider', 'rdmacm'], /argument 'rdmacm' is invalid\. .* umad, embedded/],
    [[], /Usage: rx-ib-multicast/],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await runCli(...args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

describe('devices', () => {
  it('says per provider whether it is usable, and why', async () => {
    const { code, stdout } = await runCli('devices');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^PROVIDER +USABLE +REASON$/m);
    expect(stdout).toMatch(/^embedded +yes +a simulation in this process/m);
    expect(stdout).toMatch(/^umad +(yes|no) +\S/m);
  });

  it('--json: one object', async () => {
    const { code, stdout } = await runCli('devices', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      devices: expect.any(Array) as unknown[],
      capabilities: { embedded: { usable: true }, umad: { reason: expect.any(String) as string } },
    });
  });
});

it.each([[['--help']], [['join', '--help']], [['devices', '--help']]])('%j', async (args) => {
  const { code, stdout, stderr } = await runCli(...args);
  expect(stdout).toMatch(/^Usage: rx-ib-multicast/);
  expect([code, stderr]).toEqual([0, '']);
});

it('--version', async () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  expect(await runCli('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});
