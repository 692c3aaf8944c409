import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { QueryCallback } from '../../src/contract/query.js';
import type { JoinRequest } from '../../src/contract/request.js';
import type { DiagnosticMessage } from '../../src/errors/diagnostics.js';
import type { MulticastError } from '../../src/errors/multicast-error.js';
import { broadcastMgidOf } from '../../src/observable/inherit.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { registerSaClient } from '../../src/observable/sa-client.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric, EmbeddedFabricOptions } from '../../src/providers/embedded-fabric.js';
import { joinedRecord } from '../../src/testing/joined-record.js';
import { manualProvider } from './manual-provider.js';

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

function watch(request: JoinRequest) {
  const events: MulticastEvent[] = [];
  const ends: unknown[] = [];
  const subscription = joinMulticast$(request).subscribe({
    next: (event) => events.push(event),
    error: (error: unknown) => ends.push(error),
  });
  return { events, ends, subscription };
}

describe("inherit: 'broadcast'", () => {
  it('creates a group with the fields of the broadcast group, but for those given', () =>
    withFabric({}, (fabric) => {
      const { events, subscription } = watch({
        provider: fabric,
        inherit: 'broadcast',
        record: { mgid: 'ff12:cafe::1', sl: 3 },
      });
      fabric.tick();
      expect(events).toMatchObject([
        {
          type: 'joined',
          record: { qkey: 0xb1b, pkey: 0xffff, sl: 3, mtu: 2048, rate: 10, hopLimit: 0 },
          request: {
            device: 'embedded0',
            record: {
              qkey: 0xb1b,
              pkey: 0xffff,
              sl: 3,
              trafficClass: 0,
              flowLabel: 0,
              hopLimit: 0,
              mtu: 2048,
              mtuSelector: 'exactly',
              rate: 10,
              rateSelector: 'exactly',
            },
          },
        },
      ]);
      // MGID, PortGID, Q_Key, MTU and rate with selectors, TClass, P_Key, SL, FlowLabel, HopLimit,
      // JoinState.
      expect(events[0]?.request.componentMask).toBe(0b1_0111_0011_1111_0111n);
      subscription.unsubscribe();
      fabric.tick();
      expect(fabric.members()).toEqual([]);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0, joinsStarted: 2 });
    }));

  it('joins an IP group in the same way', () =>
    withFabric({}, (fabric) => {
      const { events, subscription } = watch({
        provider: fabric,
        inherit: 'broadcast',
        group: '239.1.2.3',
      });
      fabric.tick();
      expect(events[0]).toMatchObject({
        type: 'joined',
        record: { mgid: 'ff12:401b:ffff::f01:203', qkey: 0xb1b },
      });
      subscription.unsubscribe();
      fabric.tick();
    }));

  it('is EADDRNOTAVAIL, first as an event, where the partition has no such group', () =>
    withFabric({ pkeys: [0xffff, 0x8001] }, (fabric) => {
      const { events, ends } = watch({
        provider: fabric,
        inherit: 'broadcast',
        record: { mgid: 'ff12:cafe::1', pkey: 0x8001 },
      });
      fabric.tick();
      expect(events).toMatchObject([{ type: 'error', status: -99 }]);
      expect(ends).toMatchObject([
        {
          code: 'EADDRNOTAVAIL',
          mgid: 'ff12:401b:8001::ffff:ffff',
          message: expect.stringMatching(/no IPoIB broadcast group/) as string,
        },
      ]);
      expect(fabric.counters().sets).toBe(0);
    }));

  it('is within joinTimeoutMs, and freed on unsubscription', () =>
    withFabric({ delayMs: 10 }, async (fabric) => {
      const early = watch({
        provider: fabric,
        inherit: 'broadcast',
        record: { mgid: 'ff12:cafe::1' },
      });
      early.subscription.unsubscribe();
      const late = watch({
        provider: fabric,
        inherit: 'broadcast',
        record: { mgid: 'ff12:cafe::1' },
        joinTimeoutMs: 5,
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(late.ends).toMatchObject([{ code: 'ETIMEDOUT' }]);
      fabric.tick(100);
      expect([early.events, early.ends]).toEqual([[], []]);
      expect(fabric.counters().sets).toBe(0);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('keeps a client waiting from the look-up to the leave', () =>
    withFabric({ delayMs: 1 }, async (fabric) => {
      const client = registerSaClient({ provider: fabric });
      const { events, subscription } = watch({
        client,
        inherit: 'broadcast',
        record: { mgid: 'ff12:cafe::1' },
      });
      let done = false;
      const unregistered = client.unregister().then(() => {
        done = true;
      });
      fabric.tick(10);
      await Promise.resolve();
      expect(events).toMatchObject([{ type: 'joined' }]);
      expect(done).toBe(false);
      expect(client.mcMemberRecord('FF12:cafe::1')).toMatchObject({ mlid: 0xc001 });
      expect(() => client.mcMemberRecord('ff12:cafe::2')).toThrow(
        expect.objectContaining({ code: 'EADDRNOTAVAIL' }),
      );
      expect(() => client.mcMemberRecord('fe80::1')).toThrow(RangeError);
      subscription.unsubscribe();
      fabric.tick(10);
      await unregistered;
      expect(() => client.mcMemberRecord('ff12:cafe::1')).toThrow(
        expect.objectContaining({ code: 'EADDRNOTAVAIL' }),
      );
    }));

  it('takes no notice of a provider that throws when the question is freed', () => {
    const answers: QueryCallback<'mc-member-record'>[] = [];
    const provider = manualProvider(undefined, {
      query: (_query, callback) => {
        answers.push(callback as QueryCallback<'mc-member-record'>);
        return {};
      },
      freeMulticast: () => {
        throw new Error('cannot free');
      },
    });
    const failures: DiagnosticMessage[] = [];
    const listen = (message: unknown): void => {
      failures.push(message as DiagnosticMessage);
    };
    subscribe('rx-ib-multicast:leave-failed', listen);
    const request: JoinRequest = { provider, inherit: 'broadcast', record: { mgid: 'ff12::1' } };
    const unsubscribed = watch(request).subscription;
    const { ends, subscription } = watch(request);
    unsubscribed.unsubscribe();
    answers[1]?.({ status: 0, records: [joinedRecord({ record: request.record } as never)] });
    unsubscribe('rx-ib-multicast:leave-failed', listen);
    expect(ends).toEqual([]);
    expect(provider.joins).toHaveLength(1);
    expect(failures).toMatchObject([
      { provider: 'manual', error: { message: 'cannot free' } },
      { provider: 'manual', error: { message: 'cannot free' } },
    ]);
    subscription.unsubscribe();
  });

  it('needs a provider that can ask, and no componentMask beside it', () => {
    const provider = manualProvider();
    const without = watch({ provider, inherit: 'broadcast', record: { mgid: 'ff12::1' } });
    expect(without.ends).toMatchObject([{ code: 'EOPNOTSUPP' }]);
    expect(without.events).toMatchObject([{ type: 'error' }]);
    const mask = { provider, componentMask: 1n, record: { mgid: 'ff12::1' } };
    expect(watch({ ...mask, inherit: 'broadcast' }).ends[0]).toBeInstanceOf(TypeError);
    const unknown = { provider, inherit: 'parent', record: { mgid: 'ff12::1' } } as never;
    expect(watch(unknown).ends[0]).toBeInstanceOf(RangeError);
    expect(() => registerSaClient({ provider }).mcMemberRecord('ff12::1')).toThrow(
      expect.objectContaining({ code: (['EOPNOTSUPP'] as const)[0] }),
    );
    expect((without.ends[0] as MulticastError).retryable).toBe(false);
  });
});

describe('broadcastMgidOf', () => {
  it.each([
    [{}, 'ff12:401b:ffff::ffff:ffff'],
    [{ mgid: 'ff12:cafe::1' }, 'ff12:401b:ffff::ffff:ffff'],
    [{ pkey: 0x0001 }, 'ff12:401b:8001::ffff:ffff'],
    [{ scope: 5 }, 'ff15:401b:ffff::ffff:ffff'],
    [{ mgid: 'ff15:601b:8002::1' }, 'ff15:401b:8002::ffff:ffff'],
    [{ mgid: 'ff15:401b:8002::1', pkey: 0x8003, scope: 2 }, 'ff12:401b:8003::ffff:ffff'],
  ])('of %j is %s', (record, mgid) => {
    expect(broadcastMgidOf(record)).toBe(mgid);
  });
});
