import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Subject, Subscription } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinRequest } from '../../src/contract/request.js';
import type { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { joinMulticastAll$ } from '../../src/operators/join-multicast-all.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric, EmbeddedFabricOptions } from '../../src/providers/embedded-fabric.js';

const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

/** What a stream has said so far, as short words. */
function watch(request: JoinRequest) {
  const words: string[] = [];
  const events: MulticastEvent[] = [];
  const subscription = joinMulticast$(request).subscribe({
    next: (event) => {
      events.push(event);
      words.push(event.type === 'reset' ? `reset ${event.reason}` : event.type);
    },
    error: (error: unknown) => words.push((error as MulticastError).code),
    complete: () => words.push('complete'),
  });
  return { words, events, subscription };
}

/** A fabric whose clock stands still, closed at the end. */
async function withFabric(
  options: EmbeddedFabricOptions,
  body: (fabric: EmbeddedFabric) => void | Promise<void>,
): Promise<void> {
  const fabric = embeddedFabric({ clock: 'manual', auditIntervalMs: 0, ...options });
  try {
    await body(fabric);
  } finally {
    await fabric.close();
  }
}

describe('a manual clock', () => {
  it('moves in tick() only, and delivers before it returns', () =>
    withFabric({ delayMs: 10 }, (fabric) => {
      const { words, events, subscription } = watch({
        provider: fabric,
        record: { mgid: 'ff12::1', ...creation },
      });
      fabric.tick(19);
      expect(words).toEqual([]);
      fabric.tick(1);
      expect(words).toEqual(['joined']);
      expect(events[0]).toMatchObject({
        type: 'joined',
        record: { mgid: 'ff12::1', mlid: 0xc001, joinState: ['full-member'] },
        request: { device: 'embedded0', port: 1 },
      });
      expect(fabric.members('ff12::1')).toHaveLength(1);
      subscription.unsubscribe();
      fabric.tick(20);
      expect(fabric.members()).toEqual([]);
    }));

  it('times out after the attempts of one request', () =>
    withFabric({ requestTimeoutMs: 300 }, (fabric) => {
      fabric.silenceSm();
      const { words, subscription } = watch({
        provider: fabric,
        record: { mgid: 'ff12::1', ...creation },
      });
      fabric.tick(299);
      expect(words).toEqual([]);
      fabric.tick(1);
      expect(words).toEqual(['error', 'ETIMEDOUT']);
      expect(fabric.stats?.()).toMatchObject({ retries: 2, timeouts: 1, handlesAlive: 0 });
      subscription.unsubscribe();
      // What the silent manager has queued is executed now, and deleted again.
      fabric.resumeSm();
      fabric.tick(1000);
      expect(fabric.members()).toEqual([]);
      expect(fabric.stats?.().compensatingLeaves).toBeGreaterThanOrEqual(1);
    }));

  it('is refused in real time', async () => {
    const fabric = embeddedFabric();
    expect(() => {
      fabric.tick(1);
    }).toThrow(TypeError);
    await fabric.close();
  });

  it('delivers to a handler at the instant of the event, not at the end of the tick', () =>
    withFabric({}, (fabric) => {
      const record = { mgid: 'ff12::1', ...creation };
      const instants: number[] = [];
      let sets = 0;
      const subscription = joinMulticast$({ provider: fabric, record }).subscribe(() => {
        sets = fabric.counters().sets;
        // The second join is made inside the handler, and answered within the same tick.
        subscription.add(
          joinMulticast$({ provider: fabric, record: { ...record, mgid: 'ff12::2' } }).subscribe(
            () => {
              instants.push(fabric.counters().sets);
            },
          ),
        );
      });
      fabric.tick(0);
      expect(sets).toBe(1);
      expect(instants).toEqual([2]);
      subscription.unsubscribe();
      fabric.tick(0);
      expect(fabric.members()).toEqual([]);
    }));
});

describe('tick() inside a handler', () => {
  it('returns, and what it brought is delivered after the handler', () =>
    withFabric({ delayMs: 1 }, (fabric) => {
      const order: string[] = [];
      const subscription = new Subscription();
      for (const mgid of ['ff12::1', 'ff12::2']) {
        subscription.add(
          joinMulticast$({ provider: fabric, record: { mgid, ...creation } }).subscribe(() => {
            order.push(`${mgid} begins`);
            fabric.tick(10);
            order.push(`${mgid} ends`);
          }),
        );
      }
      fabric.tick(2);
      expect(order).toEqual(['ff12::1 begins', 'ff12::1 ends', 'ff12::2 begins', 'ff12::2 ends']);
      subscription.unsubscribe();
    }));
});

describe('sharing', () => {
  it('sends one Set for two subscriptions, no Delete for the first to go, one for the last', () =>
    withFabric({}, (fabric) => {
      const request = { provider: fabric, record: { mgid: 'ff12::1', ...creation } };
      const first = watch(request);
      const second = watch(request);
      fabric.tick(0);
      expect([first.words, second.words]).toEqual([['joined'], ['joined']]);
      expect(fabric.stats?.()).toMatchObject({ joinsSent: 1, handlesAlive: 2 });
      first.subscription.unsubscribe();
      fabric.tick(1000);
      expect(fabric.stats?.()).toMatchObject({ leavesSent: 0, handlesAlive: 1 });
      expect(fabric.members()).toHaveLength(1);
      second.subscription.unsubscribe();
      fabric.tick(1000);
      expect(fabric.stats?.()).toMatchObject({ leavesSent: 1, handlesAlive: 0 });
      expect(fabric.members()).toEqual([]);
    }));

  it('decides a mismatch on the same port by itself and names the fields', () =>
    withFabric({}, (fabric) => {
      const record = { mgid: 'ff12::1', ...creation };
      const first = watch({ provider: fabric, record });
      fabric.tick(0);
      const second = watch({ provider: fabric, record: { ...record, qkey: 7, mtu: 256 } });
      fabric.tick(0);
      expect(second.words).toEqual(['error', 'EINVAL']);
      expect(second.events[0]).toMatchObject({ error: { fields: ['qkey', 'mtu'] } });
      expect(second.events[0]).not.toHaveProperty('error.saStatus', expect.anything());
      expect(fabric.counters().sets).toBe(1);
      expect(first.words).toEqual(['joined']);
      first.subscription.unsubscribe();
    }));

  it('lets the administrator decide between ports, and names the fields', () =>
    withFabric({}, (fabric) => {
      const record = { mgid: 'ff12::1', ...creation };
      const first = watch({ provider: fabric, device: 'embedded0', port: 1, record });
      fabric.tick(0);
      const second = watch({
        provider: fabric,
        device: 'embedded1',
        port: 1,
        record: { ...record, qkey: 7 },
      });
      fabric.tick(0);
      expect(second.words).toEqual(['error', 'EINVAL']);
      expect(second.events[0]).toMatchObject({
        error: { saStatusName: 'REQ_INVALID', fields: ['qkey'] },
      });
      expect(first.words).toEqual(['joined']);
      first.subscription.unsubscribe();
    }));

  it('keeps the membership when unsubscribed and resubscribed at once', () =>
    withFabric({}, (fabric) => {
      const request = { provider: fabric, record: { mgid: 'ff12::1', ...creation } };
      const first = watch(request);
      fabric.tick(0);
      first.subscription.unsubscribe();
      const second = watch(request);
      fabric.tick(1000);
      expect(second.words).toEqual(['joined']);
      expect(fabric.members()).toHaveLength(1);
      second.subscription.unsubscribe();
    }));
});

describe('a changed record', () => {
  const record = { mgid: 'ff12::1', ...creation };
  const qkeyOf = (event: MulticastEvent | undefined): number | undefined =>
    event?.type === 'joined' ? event.record.qkey : undefined;

  it('is a leave and a join when nobody holds the old one any more', () =>
    withFabric({ delayMs: 1 }, (fabric) => {
      const before = watch({ provider: fabric, record });
      fabric.tick(2);
      before.subscription.unsubscribe();
      const after = watch({ provider: fabric, record: { ...record, qkey: 7 } });
      fabric.tick(10);
      expect(after.words).toEqual(['joined']);
      expect(qkeyOf(after.events[0])).toBe(7);
      expect(fabric.counters()).toMatchObject({ sets: 2, deletes: 1 });
      after.subscription.unsubscribe();
      fabric.tick(10);
      expect(fabric.members()).toEqual([]);
    }));

  it('is a leave and a join in the next set of joinMulticastAll$', () =>
    withFabric({ delayMs: 1 }, (fabric) => {
      const sets$ = new Subject<JoinRequest[]>();
      const events: MulticastEvent[] = [];
      const subscription = joinMulticastAll$(sets$).subscribe((event) => events.push(event));
      sets$.next([{ provider: fabric, record }]);
      fabric.tick(2);
      sets$.next([{ provider: fabric, record: { ...record, qkey: 7 } }]);
      fabric.tick(10);
      expect(events.map(qkeyOf)).toEqual([0xb1b, 7]);
      expect(fabric.counters()).toMatchObject({ sets: 2, deletes: 1, members: 1 });
      subscription.unsubscribe();
    }));
});

describe('events of the fabric', () => {
  const cases: [string, string, (fabric: EmbeddedFabric) => void][] = [
    [
      'a link that goes down',
      'port-error',
      (fabric) => {
        fabric.portDown('embedded0');
      },
    ],
    [
      'another LID',
      'lid-change',
      (fabric) => {
        fabric.changeLid('embedded0', 77);
      },
    ],
    [
      'another subnet manager',
      'sm-change',
      (fabric) => {
        fabric.takeover(9);
      },
    ],
    [
      'a reregistration',
      'client-reregister',
      (fabric) => {
        fabric.restartSm({ reregister: true });
      },
    ],
    [
      'another GID',
      'gid-change',
      (fabric) => {
        fabric.changeGid('embedded0', 'fec0::1');
      },
    ],
    [
      'another P_Key table',
      'pkey-change',
      (fabric) => {
        fabric.setPkeys('embedded0', [0x8001, 0xffff]);
      },
    ],
    [
      'a removed device',
      'device-removed',
      (fabric) => {
        fabric.removeDevice('embedded0');
      },
    ],
  ];

  it.each(cases)('%s resets every membership: %s', (_what, reason, happen) =>
    withFabric({}, (fabric) => {
      const streams = ['ff12::1', 'ff12::2'].map((mgid) =>
        watch({ provider: fabric, device: 'embedded0', record: { mgid, ...creation } }),
      );
      fabric.tick(0);
      happen(fabric);
      fabric.tick(0);
      for (const { words, events } of streams) {
        expect(words).toEqual(['joined', `reset ${reason}`, 'ENETRESET']);
        expect(events[1]).toMatchObject({
          error: { retryable: reason !== 'device-removed', reason },
        });
      }
    }),
  );

  it('finds out by the audit that a restarted manager has forgotten it', () =>
    withFabric({ auditIntervalMs: 1000 }, (fabric) => {
      const { words } = watch({ provider: fabric, record: { mgid: 'ff12::1', ...creation } });
      fabric.tick(0);
      fabric.restartSm();
      fabric.tick(1200);
      expect(words).toEqual(['joined', 'reset membership-lost', 'ENETRESET']);
    }));

  it('says EAGAIN while the port is down and joins when it is up', () =>
    withFabric({}, (fabric) => {
      fabric.portDown('embedded0');
      const request = {
        provider: fabric,
        device: 'embedded0',
        port: 1,
        record: { mgid: 'ff12::1', ...creation },
      };
      const down = watch(request);
      fabric.tick(0);
      expect(down.words).toEqual(['error', 'EAGAIN']);
      fabric.portUp('embedded0');
      fabric.tick(0);
      const up = watch(request);
      fabric.tick(0);
      expect(up.words).toEqual(['joined']);
      up.subscription.unsubscribe();
    }));

  it('tells all members of a removed device, also when the first rejoins at once', () =>
    withFabric({}, (fabric) => {
      const request = {
        provider: fabric,
        device: 'embedded0',
        port: 1,
        record: { mgid: 'ff12::1', ...creation },
      };
      let again: ReturnType<typeof watch> | undefined;
      const first = joinMulticast$(request).subscribe({
        next: (event) => {
          if (event.type === 'reset') again = watch(request);
        },
        error: () => undefined,
      });
      const others = ['ff12::1', 'ff12::2'].map((mgid) =>
        watch({ ...request, record: { ...request.record, mgid } }),
      );
      fabric.tick(0);
      fabric.removeDevice('embedded0');
      fabric.tick(0);
      for (const { words } of others) {
        expect(words).toEqual(['joined', 'reset device-removed', 'ENETRESET']);
      }
      expect(first.closed).toBe(true);
      expect(again?.words).toEqual(['error', 'ENODEV']);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('says ENODEV after the device was removed, and names what exists', () =>
    withFabric({}, (fabric) => {
      fabric.removeDevice('embedded0');
      const { words, events } = watch({
        provider: fabric,
        device: 'embedded0',
        record: { mgid: 'ff12::1', ...creation },
      });
      expect(words).toEqual(['error', 'ENODEV']);
      expect(events[0]).toHaveProperty(
        'error.message',
        expect.stringContaining('embedded1 port 1 (active)'),
      );
    }));
});

describe('several processes on one host', () => {
  it('count their memberships by themselves', () =>
    withFabric({}, (fabric) => {
      const other = fabric.client();
      const record = { mgid: 'ff12::1', ...creation };
      const mine = watch({ provider: fabric, record });
      const theirs = watch({ provider: other, record });
      fabric.tick(0);
      expect([mine.words, theirs.words]).toEqual([['joined'], ['joined']]);
      expect(fabric.counters().sets).toBe(2);
      mine.subscription.unsubscribe();
      theirs.subscription.unsubscribe();
      fabric.tick(100);
      expect(fabric.members()).toEqual([]);
    }));

  const broadcast = { mgid: 'ff12:401b:ffff::ffff:ffff' };

  it('do not evict who was a member of an IPoIB group before', () =>
    withFabric({}, (fabric) => {
      const kernel = watch({ provider: fabric, record: broadcast });
      fabric.tick(0);
      const second = fabric.client();
      const ours = watch({ provider: second, record: broadcast });
      fabric.tick(0);
      expect([kernel.words, ours.words]).toEqual([['joined'], ['joined']]);
      expect(second.stats?.()).toMatchObject({ probes: 2, borrowed: 1 });
      ours.subscription.unsubscribe();
      fabric.tick(60_000);
      expect(fabric.members()).toMatchObject([{ ...broadcast, joinState: ['full-member'] }]);
      expect(second.stats?.()).toMatchObject({ leavesSent: 0, borrowed: 0, groups: 0 });
      kernel.subscription.unsubscribe();
      fabric.tick(100);
      expect(fabric.members()).toEqual([]);
    }));

  it("leave the bits they have added, with probe: 'always' in every group", () =>
    withFabric({}, (fabric) => {
      const record = { mgid: 'ff12::1', ...creation };
      const neighbour = watch({ provider: fabric, record });
      fabric.tick(0);
      const ours = watch({
        provider: fabric.client({ probe: 'always' }),
        record: { ...record, joinState: ['full-member', 'send-only-non-member'] },
      });
      fabric.tick(0);
      expect(ours.words).toEqual(['joined']);
      expect(fabric.members()).toMatchObject([
        { joinState: ['full-member', 'send-only-non-member'] },
      ]);
      ours.subscription.unsubscribe();
      fabric.tick(100);
      expect(fabric.members()).toMatchObject([{ joinState: ['full-member'] }]);
      neighbour.subscription.unsubscribe();
    }));

  it('do not take their own membership for a stranger after a LID change', () =>
    withFabric({ probe: 'always' }, (fabric) => {
      const record = { mgid: 'ff12::1', ...creation };
      const first = watch({ provider: fabric, record });
      fabric.tick(0);
      fabric.changeLid('embedded0', 77);
      fabric.tick(0);
      expect(first.words).toEqual(['joined', 'reset lid-change', 'ENETRESET']);
      expect(fabric.members()).toHaveLength(1);
      const again = watch({ provider: fabric, record });
      fabric.tick(0);
      expect(again.words).toEqual(['joined']);
      expect(fabric.stats?.()).toMatchObject({ probes: 1, borrowed: 0 });
      again.subscription.unsubscribe();
      fabric.tick(100);
      expect(fabric.members()).toEqual([]);
    }));

  it("are not asked for with probe: 'never'", () =>
    withFabric({ probe: 'never' }, (fabric) => {
      const { subscription } = watch({ provider: fabric, record: broadcast });
      fabric.tick(0);
      expect(fabric.counters()).toMatchObject({ gets: 0, sets: 1 });
      subscription.unsubscribe();
    }));
});

describe('diagnostics', () => {
  it('name the provider, device and port', () =>
    withFabric({}, (fabric) => {
      const messages: unknown[] = [];
      const listen = (message: unknown): void => {
        messages.push(message);
      };
      subscribe('rx-ib-multicast:port-event', listen);
      const { subscription } = watch({
        provider: fabric,
        device: 'embedded1',
        port: 1,
        record: { mgid: 'ff12::1', ...creation },
      });
      fabric.tick(0);
      fabric.changeLid('embedded1', 77);
      fabric.tick(0);
      unsubscribe('rx-ib-multicast:port-event', listen);
      expect(messages).toEqual([
        { provider: 'embedded', device: 'embedded1', port: 1, status: 0, reason: 'lid-change' },
      ]);
      subscription.unsubscribe();
    }));
});

describe('a closed fabric', () => {
  it('refuses its controls with ESHUTDOWN, and names the control', async () => {
    const fabric = embeddedFabric();
    await fabric.close();
    const controls: [string, () => unknown][] = [
      ['portDown', () => fabric.portDown('embedded0')],
      ['setLoss', () => fabric.setLoss({ request: 1 })],
      ['answerWith', () => fabric.answerWith(0x100, 1)],
      ['members', () => fabric.members()],
    ];
    for (const [syscall, control] of controls) {
      expect(control).toThrow('the embedded fabric is closed');
      expect(control).toThrow(expect.objectContaining({ code: 'ESHUTDOWN', syscall }));
    }
  });

  it('is closed for both callers when close() is called twice', async () => {
    const fabric = embeddedFabric({ delayMs: 20 });
    const { words, subscription } = watch({
      provider: fabric,
      record: { mgid: 'ff12::1', ...creation },
    });
    await vi.waitFor(() => {
      expect(words).toEqual(['joined']);
    });
    subscription.unsubscribe();
    const order: string[] = [];
    const idle = fabric.idle?.().then(() => order.push('left'));
    const first = fabric.close().then(() => order.push('first'));
    const second = fabric.close().then(() => order.push('second'));
    await Promise.all([idle, first, second]);
    expect(order).toEqual(['left', 'first', 'second']);
  });

  it('resolves an idle() that was pending when it was closed', async () => {
    const fabric = embeddedFabric({ clock: 'manual', delayMs: 10 });
    const { words, subscription } = watch({
      provider: fabric,
      record: { mgid: 'ff12::1', ...creation },
    });
    fabric.tick(20);
    expect(words).toEqual(['joined']);
    subscription.unsubscribe();
    // The clock stands still, so that the leave is never answered.
    const idle = fabric.idle?.();
    await fabric.close();
    await idle;
  });

  it('refuses joins with ESHUTDOWN', async () => {
    const fabric = embeddedFabric();
    await fabric.close();
    const { words } = watch({ provider: fabric, record: { mgid: 'ff12::1', ...creation } });
    expect(words).toEqual(['error', 'ESHUTDOWN']);
  });
});

describe('limits', () => {
  it('gives NO_RESOURCES beyond the MLID pool, and leaves the others alone', () =>
    withFabric({ mlidPool: 4 }, (fabric) => {
      const streams = Array.from({ length: 5 }, (_, index) =>
        watch({ provider: fabric, record: { mgid: `ff12::${String(index + 1)}`, ...creation } }),
      );
      fabric.tick(0);
      const failed = streams.filter(({ words }) => words[0] === 'error');
      expect(failed).toHaveLength(2);
      for (const { events } of failed) {
        expect(events[0]).toMatchObject({
          error: { code: 'EINVAL', saStatusName: 'NO_RESOURCES' },
        });
      }
      expect(fabric.members()).toHaveLength(3);
      for (const { subscription } of streams) subscription.unsubscribe();
    }));

  it('keeps the number of requests outstanding within the window', () =>
    withFabric({ maxOutstanding: 5, delayMs: 1 }, (fabric) => {
      const streams = Array.from({ length: 50 }, (_, index) =>
        watch({ provider: fabric, record: { mgid: `ff12::${String(index + 1)}`, ...creation } }),
      );
      fabric.tick(1000);
      expect(fabric.members()).toHaveLength(50);
      expect(fabric.counters().outstandingPeak).toBe(5);
      expect(fabric.stats?.().outstandingPeak).toBe(5);
      for (const { subscription } of streams) subscription.unsubscribe();
    }));
});

describe('options', () => {
  it.each([
    [{ ports: 0 }, RangeError, 'ports is 0; expected an integer from 1 to 1000'],
    [{ clock: 'fast' }, TypeError, "clock is 'fast'; expected 'real' or 'manual'"],
    [{ requestTimeoutMs: 0 }, RangeError, 'requestTimeoutMs is 0'],
    [{ probe: 'sometimes' }, RangeError, "probe is 'sometimes'; expected 'ipoib' or 'always' or"],
    [{ probe: true }, TypeError, 'probe is true'],
    [{ maxOutstanding: 256 }, RangeError, 'maxOutstanding is 256'],
    [{ attempts: 1.5 }, RangeError, 'attempts is 1.5'],
    [{ speed: 1 }, TypeError, 'speed is no option of embeddedFabric()'],
    [{ pkeys: 5 }, TypeError, 'pkeys is 5; expected a list of numbers'],
  ])('refuses %j', (options, type, message) => {
    const make = () => embeddedFabric(options as never);
    expect(make).toThrow(type);
    expect(make).toThrow(message);
  });

  it('refuses controls that are not given what they need', () =>
    withFabric({}, (fabric) => {
      const wrong: [() => unknown, string][] = [
        [() => fabric.setLoss(0.5 as never), 'the options of setLoss() are 0.5'],
        [() => fabric.setLoss({ requests: 1 } as never), 'requests is no option of setLoss()'],
        [() => fabric.restartSm(true as never), 'the options of restartSm() are true'],
        [() => fabric.restartSm({ reregister: 1 } as never), 'reregister is 1'],
        [() => fabric.portDown(undefined as never), 'device is undefined; expected the name'],
      ];
      for (const [control, message] of wrong) {
        expect(control).toThrow(TypeError);
        expect(control).toThrow(message);
      }
    }));

  it('refuses controls of devices that are not there', () =>
    withFabric({}, (fabric) => {
      expect(() => {
        fabric.portDown('embedded9');
      }).toThrow(
        "there is no device 'embedded9'; there are embedded0 port 1 (active), embedded1 port 1 (active)",
      );
    }));
});
