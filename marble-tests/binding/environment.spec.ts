import { afterEach, describe, expect, it, vi } from 'vitest';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';

const GROUPS = 100;

/** As long as several batches, so that a turn's budget ends before they do. */
function beBusy(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('the dispatch of completions', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('goes on in the next turn, also where timers are fake', async () => {
    vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout', 'setInterval'] });
    const provider = embeddedFabric({ auditIntervalMs: 0 });
    const joined = new Set<string>();
    const subscriptions = await new Promise<{ unsubscribe(): void }[]>((resolve) => {
      const all = Array.from({ length: GROUPS }, (_, index) =>
        joinMulticast$({
          provider,
          record: {
            mgid: `ff12:cafe::${(index + 1).toString(16)}`,
            qkey: 1,
            pkey: 0xffff,
            sl: 0,
            trafficClass: 0,
            flowLabel: 0,
          },
        }).subscribe((event) => {
          joined.add(event.request.record.mgid ?? '');
          beBusy(0.5);
          if (joined.size === GROUPS) resolve(all);
        }),
      );
    });
    expect(joined.size).toBe(GROUPS);
    for (const subscription of subscriptions) subscription.unsubscribe();
    await provider.close();
    expect(provider.stats().ports).toEqual([]);
  });
});
