import { describe, expect, it, vi } from 'vitest';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { registerSaClient } from '../../src/observable/sa-client.js';
import { manualProvider } from './manual-provider.js';

const record = { mgid: 'ff12::1' };

describe('registerSaClient', () => {
  it('sends joins to its provider, device and port', () => {
    const provider = manualProvider();
    const client = registerSaClient({ provider, device: 'mlx5_0', port: 2 });
    expect(client).toMatchObject({ provider, device: 'mlx5_0', port: 2, registered: true });
    joinMulticast$({ client, record }).subscribe().unsubscribe();
    expect(provider.joins[0]?.request).toMatchObject({ provider, device: 'mlx5_0', port: 2 });
  });

  it('refuses options it does not know', () => {
    expect(() => registerSaClient({ provider: manualProvider(), ports: 2 } as never)).toThrow(
      'ports is no option of registerSaClient(); options: provider, device, port',
    );
  });

  it('waits for its memberships, then for the provider', async () => {
    const steps: string[] = [];
    const provider = manualProvider(undefined, {
      idle: () => {
        steps.push('idle');
        return Promise.resolve();
      },
    });
    const client = registerSaClient({ provider });
    const first = joinMulticast$({ client, record }).subscribe();
    const second = joinMulticast$({ client, record }).subscribe({ error: () => undefined });
    const done = client.unregister().then(() => steps.push('done'));
    expect(client.registered).toBe(false);
    first.unsubscribe();
    await new Promise((resolve) => setImmediate(resolve));
    expect(steps).toEqual([]);
    provider.joins[1]?.complete({ status: -5 });
    await done;
    expect(steps).toEqual(['idle', 'done']);
    expect(client.unregister()).toBe(client.unregister());
    second.unsubscribe();
  });

  it('resolves at once when nothing was joined, or only in vain', async () => {
    const provider = manualProvider(() => {
      throw new Error('cannot');
    });
    const client = registerSaClient({ provider });
    joinMulticast$({ client, record }).subscribe({ error: () => undefined });
    await client.unregister();
    await registerSaClient({ provider })[Symbol.asyncDispose]();
  });

  it('refuses joins once unregistered, as an event', async () => {
    const provider = manualProvider();
    const client = registerSaClient({ provider });
    await client.unregister();
    const next = vi.fn();
    const error = vi.fn();
    joinMulticast$({ client, record }).subscribe({ next, error });
    const failure = { code: 'ESHUTDOWN', errno: -108, retryable: false };
    expect(next.mock.calls).toMatchObject([[{ type: 'error', status: -108, error: failure }]]);
    expect(error.mock.calls).toMatchObject([[failure]]);
    expect(provider.joins).toHaveLength(0);
  });

  it.each(['provider', 'device', 'port'])('excludes %s', (field) => {
    const provider = manualProvider();
    const client = registerSaClient({ provider });
    const error = vi.fn();
    const rest = { provider, device: 'd', port: 1 }[field];
    joinMulticast$({ client, record, [field]: rest }).subscribe({ error });
    expect(error.mock.calls[0]?.[0]).toBeInstanceOf(TypeError);
    expect(error.mock.calls).toMatchObject([
      [{ message: expect.stringContaining(`${field} is given beside client`) as string }],
    ]);
  });

  it('takes only clients that were registered', () => {
    const error = vi.fn();
    const client = {
      provider: manualProvider(),
      registered: true,
      unregister: () => Promise.resolve(),
      mcMemberRecord: () => {
        throw new Error('unused');
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    joinMulticast$({ client, record }).subscribe({ error });
    expect(error.mock.calls[0]?.[0]).toBeInstanceOf(TypeError);
  });

  it('checks its options', () => {
    const provider = manualProvider();
    expect(() => registerSaClient({ provider: {} as never })).toThrow(TypeError);
    expect(() => registerSaClient({ provider, port: 0 })).toThrow(RangeError);
    expect(() => registerSaClient({ provider, device: '' })).toThrow(TypeError);
  });
});
