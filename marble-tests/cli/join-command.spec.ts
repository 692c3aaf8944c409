import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { join } from '../../src/cli/join-command.js';
import type { JoinFlags } from '../../src/cli/join-flags.js';
import { Errno } from '../../src/errors/errno.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import type { MulticastProvider, SaPortOptions } from '../../src/contract/provider.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric } from '../../src/providers/embedded-fabric.js';
import { FakeTerminal } from './fake-terminal.js';

const mgid = 'ff12:cafe::10';
const creating: JoinFlags = {
  qkey: 0xb1b,
  pkey: 0xffff,
  sl: 0,
  trafficClass: 0,
  flowLabel: 0,
  json: true,
};
const inspected: SaPortOptions = { requestTimeoutMs: 300, auditIntervalMs: 50 };

let fabric: EmbeddedFabric;
let terminal: FakeTerminal;

beforeEach(() => {
  fabric = embeddedFabric(inspected);
  terminal = new FakeTerminal();
});

afterEach(async () => {
  const { joinsStarted, handlesFreed, handlesAlive } = fabric.stats?.() ?? {};
  expect(handlesAlive).toBe(0);
  expect(handlesFreed).toBe(joinsStarted);
  await fabric.close();
});

function run(flags: JoinFlags, target: Parameters<typeof join>[0] = { mgid }): Promise<number> {
  return join(target, { ...creating, ...flags }, terminal, () => fabric);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

const types = (): unknown[] => terminal.events.map((event) => event['type']);

describe('ends as asked', () => {
  it('--until joined: 0, and the group is left', async () => {
    expect(await run({ until: 'joined' })).toBe(0);
    expect(terminal.events).toMatchObject([{ type: 'joined', status: 0, mgid }]);
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('--for: 0, and the group is left', async () => {
    const ended = run({ for: 60 });
    await until(() => terminal.lines.length === 1);
    expect(fabric.members(mgid)).toHaveLength(1);
    expect(await ended).toBe(0);
    expect(fabric.members(mgid)).toEqual([]);
    expect(terminal.notes).toEqual([]);
  });

  it('--for before the join is answered: 0, says so, and nothing is left behind', async () => {
    fabric.setDelay(60);
    expect(await run({ for: 20 })).toBe(0);
    expect(terminal.lines).toEqual([]);
    expect(terminal.notes).toEqual([expect.stringContaining('not a member when --for ran out')]);
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('--until reset: 0 although it is a failure', async () => {
    const ended = run({ until: 'reset' });
    await until(() => terminal.lines.length === 1);
    fabric.changeLid('embedded0', 77);
    expect(await ended).toBe(0);
    expect(types()).toEqual(['joined', 'reset']);
  });

  it('--until error: 0 although it is a failure', async () => {
    expect(await join({ mgid }, { until: 'error', json: true }, terminal, () => fabric)).toBe(0);
    expect(types()).toEqual(['error']);
  });
});

describe('fails', () => {
  it('with 1 and the missing fields named', async () => {
    expect(await join({ mgid }, { json: true }, terminal, () => fabric)).toBe(1);
    expect(terminal.events).toEqual([
      {
        type: 'error',
        status: -22,
        mgid,
        code: 'EINVAL',
        saStatus: 0x600,
        saStatusName: 'INSUFFICIENT_COMPONENTS',
        message: expect.stringMatching(
          /fields: qkey, trafficClass, pkey, sl, flowLabel$/,
        ) as string,
      },
    ]);
  });

  it('with 1 after a reset without --rejoin', async () => {
    const ended = run({});
    await until(() => terminal.lines.length === 1);
    fabric.restartSm();
    expect(await ended).toBe(1);
    expect(terminal.events[1]).toMatchObject({
      type: 'reset',
      status: -102,
      mgid,
      code: 'ENETRESET',
      reason: 'membership-lost',
    });
  });

  it('with 1 and --join-timeout in the words of the flags', async () => {
    fabric.silenceSm();
    expect(await run({ joinTimeout: 20, json: false })).toBe(1);
    expect(terminal.lines).toEqual([
      expect.stringMatching(
        /error {3}ff12:cafe::10 {2}ETIMEDOUT: .* within --join-timeout \(20 ms\)/,
      ),
    ]);
  });

  it('gives the leave of a join without an answer two seconds, and says what may be left', async () => {
    fabric.silenceSm();
    const start = performance.now();
    expect(await run({})).toBe(1);
    const waited = performance.now() - start - 300;
    expect(terminal.events).toMatchObject([{ type: 'error', code: 'ETIMEDOUT' }]);
    expect(waited).toBeLessThan(10_000);
    fabric.resumeSm();
    await fabric.idle?.();
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('names the MGID of an IP group', async () => {
    expect(await join({ group: '239.1.2.3' }, { json: true }, terminal, () => fabric)).toBe(1);
    expect(terminal.events).toMatchObject([{ type: 'error', mgid: 'ff12:401b:ffff::f01:203' }]);
  });

  it('as an event where the provider cannot be made', async () => {
    const error = new MulticastError('no addon', { status: Errno.ENODEV });
    const refusing: MulticastProvider = {
      name: 'none',
      joinMulticast: () => {
        throw error;
      },
      freeMulticast: () => undefined,
    };
    expect(await join({ mgid }, creating, terminal, () => refusing)).toBe(1);
    expect(terminal.events).toEqual([
      { type: 'error', status: -19, mgid, code: 'ENODEV', message: 'no addon' },
    ]);
  });
});

describe('is renewed', () => {
  it('--rejoin: reset, then joined', async () => {
    const ended = run({ rejoin: true });
    await until(() => types().includes('joined'));
    fabric.restartSm();
    await until(() => types().length === 3);
    expect(types()).toEqual(['joined', 'reset', 'joined']);
    terminal.signal('SIGTERM');
    expect(await ended).toBe(143);
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('--rejoin: the first join is not repeated', async () => {
    expect(await join({ mgid }, { rejoin: true, json: true }, terminal, () => fabric)).toBe(1);
    expect(types()).toEqual(['error']);
  });
});

describe('signals', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s leaves the group: %d', async (signal, code) => {
    const ended = run({});
    await until(() => terminal.lines.length === 1);
    terminal.signal(signal);
    expect(await ended).toBe(code);
    expect(fabric.members(mgid)).toEqual([]);
    expect(fabric.stats?.().leavesSent).toBe(1);
  });

  it('during the join: no event, and nothing is left behind', async () => {
    fabric.setDelay(30);
    const ended = run({});
    await until(() => fabric.counters().inFlight === 1);
    terminal.signal('SIGINT');
    expect(await ended).toBe(130);
    expect(terminal.lines).toEqual([]);
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('before the join: it is not started', async () => {
    terminal.signal('SIGINT');
    expect(await run({})).toBe(130);
    expect(fabric.stats?.().joinsStarted).toBe(0);
  });

  it('a second one gives up waiting; the first one says which code', async () => {
    const ended = run({});
    await until(() => terminal.lines.length === 1);
    fabric.silenceSm();
    terminal.signal('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 50));
    terminal.signal('SIGINT');
    const start = performance.now();
    expect(await ended).toBe(143);
    expect(performance.now() - start).toBeLessThan(1_500);
    expect(terminal.notes).toEqual([expect.stringContaining('gave up waiting')]);
    fabric.resumeSm();
    await fabric.idle?.();
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('one while --for leaves goes on waiting', async () => {
    const ended = run({ for: 30 });
    await until(() => terminal.lines.length === 1);
    fabric.setDelay(60);
    await until(() => fabric.counters().inFlight === 1);
    terminal.signal('SIGTERM');
    expect(await ended).toBe(143);
    expect(terminal.notes).toEqual([]);
    expect(fabric.members(mgid)).toEqual([]);
  });
});

it('says when the subnet manager did not take the leave', async () => {
  const ended = run({ until: 'reset', requestTimeout: 100 });
  await until(() => terminal.lines.length === 1);
  fabric.answerWith(0x0700, Infinity, 'delete');
  terminal.signal('SIGINT');
  expect(await ended).toBe(130);
  expect(terminal.notes).toContain(
    'the subnet manager did not take the leave; a membership may be left behind',
  );
});

describe('output', () => {
  it('leaves the group and ends with 0 once its reader has gone', async () => {
    const ended = run({});
    await until(() => terminal.lines.length === 1);
    terminal.endOutput();
    expect(await ended).toBe(0);
    expect(fabric.members(mgid)).toEqual([]);
  });

  it('leaves the group and ends with 1 when it cannot be written', async () => {
    const ended = run({});
    await until(() => terminal.lines.length === 1);
    terminal.endOutput(new Error('ENOSPC'));
    expect(await ended).toBe(1);
    expect(terminal.notes).toEqual(['the output failed: ENOSPC']);
  });
});

describe('wrong usage', () => {
  it('a P_Key that no IP group can have', async () => {
    await expect(join({ group: '239.1.2.3' }, { pkey: 0 }, terminal, () => fabric)).rejects.toThrow(
      '--pkey 0 is invalid for an IP group. Expected an integer from 1 to 0xffff, except 0x8000.',
    );
  });

  it('an option that the provider refuses, with its flag', async () => {
    const refusing = () => embeddedFabric({ requestTimeoutMs: 0.5 });
    await expect(join({ mgid }, {}, terminal, refusing)).rejects.toThrow(
      /^--request-timeout is 0.5; expected a number of milliseconds from 1/,
    );
  });

  it('an empty name of a device', async () => {
    await expect(run({ device: '' })).rejects.toThrow(/^device is ''; expected the name/);
  });
});
