import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { ServiceEvent } from '../../src/contract/service-event.js';
import type { MulticastError } from '../../src/errors/multicast-error.js';
import { queryServices$ } from '../../src/observable/query.js';
import { registerService$ } from '../../src/observable/register-service.js';
import type { ServiceRegistration } from '../../src/observable/register-service.js';
import { registerSaClient } from '../../src/observable/sa-client.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric, EmbeddedFabricOptions } from '../../src/providers/embedded-fabric.js';
import type { ServiceRecord } from '../../src/records/service-record.js';
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

const service: ServiceRegistration = {
  serviceId: 0x1000000000000001n,
  name: 'market data',
  data8: [1, 2, 3],
};

function watch(source: ReturnType<typeof registerService$>) {
  const words: string[] = [];
  const events: ServiceEvent[] = [];
  const subscription = source.subscribe({
    next: (event) => {
      events.push(event);
      words.push(event.type === 'reset' ? `reset ${event.reason}` : event.type);
    },
    error: (error: unknown) => words.push((error as MulticastError).code),
  });
  return { words, events, subscription };
}

async function found(fabric: EmbeddedFabric): Promise<ServiceRecord[]> {
  const answer = lastValueFrom(
    queryServices$({
      provider: fabric,
      device: 'embedded1',
      port: 1,
      serviceId: service.serviceId,
    }).pipe(toArray()),
  );
  fabric.tick();
  return await answer;
}

describe('registerService$', () => {
  it('registers on subscription, is found from another port, and deletes on unsubscription', () =>
    withFabric({}, async (fabric) => {
      const { words, events, subscription } = watch(
        registerService$({ ...service, provider: fabric }),
      );
      fabric.tick();
      expect(words).toEqual(['joined']);
      const [own] = fabric.ports();
      const record = {
        serviceGid: own?.gid,
        pkey: 0xffff,
        leaseSeconds: 300,
        name: 'market data',
        data16: [0, 0, 0, 0, 0, 0, 0, 0],
      };
      expect(events[0]).toMatchObject({
        status: 0,
        record,
        request: { device: 'embedded0', port: 1 },
      });
      expect(await found(fabric)).toMatchObject([record]);
      subscription.unsubscribe();
      fabric.tick();
      expect(await found(fabric)).toEqual([]);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('renews a short lease in time, silently', () =>
    withFabric({}, async (fabric) => {
      const { words, subscription } = watch(
        registerService$({ ...service, leaseSeconds: 2, provider: fabric }),
      );
      for (let second = 0; second < 10; second += 1) {
        fabric.tick(1000);
        expect(await found(fabric)).toHaveLength(1);
      }
      expect(words).toEqual(['joined']);
      expect(fabric.counters().sets).toBe(11);
      subscription.unsubscribe();
      fabric.tick();
    }));

  it('is reset when the subnet manager has lost it, and rejoinOnReset registers it again', () =>
    withFabric({ auditIntervalMs: 1000 }, async (fabric) => {
      const { words, subscription } = watch(
        registerService$({ ...service, provider: fabric }).pipe(
          rejoinOnReset({ initialDelayMs: 0 }),
        ),
      );
      fabric.tick();
      fabric.restartSm();
      fabric.tick(1500);
      expect(words).toEqual(['joined', 'reset membership-lost']);
      await new Promise((resolve) => setTimeout(resolve, 5));
      fabric.tick();
      expect(words).toEqual(['joined', 'reset membership-lost', 'joined']);
      expect(await found(fabric)).toHaveLength(1);
      subscription.unsubscribe();
      fabric.tick();
      expect(await found(fabric)).toEqual([]);
    }));

  it('gives the event first, then the error: a port event, a refusal', () =>
    withFabric({}, (fabric) => {
      const lost = watch(registerService$({ ...service, provider: fabric }));
      fabric.tick();
      fabric.takeover(9);
      fabric.tick();
      expect(lost.words).toEqual(['joined', 'reset sm-change', 'ENETRESET']);
      const refused = watch(registerService$({ ...service, pkey: 0x8001, provider: fabric }));
      fabric.tick();
      expect(refused.words).toEqual(['error', 'EINVAL']);
      expect(refused.events[0]).toMatchObject({
        error: { saStatusName: 'REQ_INVALID', syscall: 'registerService' },
      });
    }));

  it('ends wrong registrations and providers that cannot with what is wrong', () =>
    withFabric({}, (fabric) => {
      const end = (given: object): unknown => {
        let end: unknown;
        registerService$({
          provider: fabric,
          ...given,
        } as unknown as ServiceRegistration).subscribe({
          error: (error: unknown) => {
            end = error;
          },
        });
        return end;
      };
      expect(end({})).toMatchObject({
        message: expect.stringMatching(/^serviceId is missing/) as string,
      });
      expect(end({ ...service, leaseSeconds: 0.5 })).toBeInstanceOf(RangeError);
      expect(end({ ...service, sl: 1 })).toBeInstanceOf(TypeError);
      expect(end({ ...service, provider: manualProvider() })).toMatchObject({
        code: 'EOPNOTSUPP',
      });
      expect(end({ ...service, device: 'mlx5_0' })).toMatchObject({ code: 'ENODEV' });
    }));

  it('is left standing by the first of two to end, also when their records differ', () =>
    withFabric({ auditIntervalMs: 1000 }, async (fabric) => {
      const one = watch(registerService$({ ...service, provider: fabric }));
      const two = watch(registerService$({ ...service, name: 'other', provider: fabric }));
      fabric.tick();
      one.subscription.unsubscribe();
      fabric.tick(3000);
      expect(await found(fabric)).toMatchObject([{ name: 'other' }]);
      expect(two.words).toEqual(['joined']);
      two.subscription.unsubscribe();
      fabric.tick();
      expect(await found(fabric)).toEqual([]);
    }));

  it('is waited for by unregister() of its client', () =>
    withFabric({}, async (fabric) => {
      const client = registerSaClient({ provider: fabric });
      const { words, subscription } = watch(registerService$({ ...service, client }));
      fabric.tick();
      expect(words).toEqual(['joined']);
      await expect(client.unregister({ timeoutMs: 0 })).rejects.toThrow(
        /still waiting for service 0x1000000000000001/,
      );
      subscription.unsubscribe();
      fabric.tick();
      await client.unregister();
      expect(await found(fabric)).toEqual([]);
    }));
});
