import { describe, expect, it } from 'vitest';
import { joinMulticast } from '../../src/observable/membership.js';
import { manualProvider } from './manual-provider.js';

const record = { mgid: 'ff12::1' };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('joinMulticast', () => {
  it('resolves when joined, holds the membership, leaves', async () => {
    let left = false;
    const provider = manualProvider(undefined, {
      idle: async () => {
        await turn();
        left = true;
      },
    });
    const joining = joinMulticast({ provider, record, context: 5 });
    provider.joins[0]?.joined();
    const membership = await joining;
    expect(membership).toMatchObject({ record: { mgid: 'ff12::1' }, context: 5 });
    expect(provider.alive()).toBe(1);
    const leaving = membership.leave();
    expect(provider.alive()).toBe(0);
    await leaving;
    expect(left).toBe(true);
    await expect(membership.lost).resolves.toBeUndefined();
    await membership.leave();
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('leaves at the end of its block', async () => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    {
      await using membership = await joinMulticast({ provider, record });
      expect(membership.record.mgid).toBe('ff12::1');
      expect(provider.alive()).toBe(1);
    }
    expect(provider.alive()).toBe(0);
  });

  it('tells of a loss, and does not reject', async () => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    const membership = await joinMulticast({ provider, record });
    provider.joins[0]?.complete({ status: -102, reason: 'sm-change' });
    await expect(membership.lost).resolves.toMatchObject({ reason: 'sm-change' });
    await membership.leave();
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('rejects when the join fails, and on misuse', async () => {
    const provider = manualProvider((join) => {
      join.complete({ status: -110 });
    });
    await expect(joinMulticast({ provider, record })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await expect(joinMulticast({ provider })).rejects.toThrow(TypeError);
    expect(provider.alive()).toBe(0);
  });

  it.each([null, {}, 'signal', new AbortController()])(
    'rejects with a TypeError for a signal that is none, and joins nothing: %o',
    async (signal) => {
      const provider = manualProvider();
      const joining = joinMulticast({ provider, record }, { signal } as never);
      await expect(joining).rejects.toThrow(TypeError);
      await expect(joining).rejects.toThrow('expected an AbortSignal');
      expect(provider.alive()).toBe(0);
    },
  );

  it.each([
    [new AbortController().signal, 'are an AbortSignal; expected { signal }'],
    [{ timeout: 5 }, 'timeout is no option of joinMulticast(); options: signal'],
    [null, 'the options of joinMulticast() are null; expected an object'],
  ])('rejects with a TypeError for options that are none: %o', async (options, message) => {
    const provider = manualProvider();
    const joining = joinMulticast({ provider, record }, options as never);
    await expect(joining).rejects.toThrow(TypeError);
    await expect(joining).rejects.toThrow(message);
    expect(provider.joins).toHaveLength(0);
  });

  it('joins nothing when aborted before', async () => {
    const provider = manualProvider();
    const signal = AbortSignal.abort(new Error('no'));
    await expect(joinMulticast({ provider, record }, { signal })).rejects.toThrow('no');
    expect(provider.joins).toHaveLength(0);
  });

  it('gives up the join when aborted meanwhile, also from within it', async () => {
    const controller = new AbortController();
    const provider = manualProvider();
    const joining = joinMulticast({ provider, record }, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(joining).rejects.toThrow('enough');
    expect(provider.alive()).toBe(0);

    const inside = new AbortController();
    const aborting = manualProvider(() => {
      inside.abort(new Error('inside'));
    });
    const refused = joinMulticast({ provider: aborting, record }, { signal: inside.signal });
    await expect(refused).rejects.toThrow('inside');
    expect(aborting.alive()).toBe(0);
  });

  it('leaves when aborted later', async () => {
    const controller = new AbortController();
    const provider = manualProvider((join) => {
      join.joined();
    });
    const membership = await joinMulticast({ provider, record }, { signal: controller.signal });
    controller.abort();
    expect(provider.alive()).toBe(0);
    await expect(membership.lost).resolves.toBeUndefined();
  });
});
