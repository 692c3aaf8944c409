import { Subscription } from 'rxjs';
import { expect, it } from 'vitest';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';

const COUNT = 200;
const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

async function until(condition: () => boolean): Promise<void> {
  const limit = performance.now() + 15_000;
  while (!condition()) {
    if (performance.now() > limit) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

it('200 memberships come through three restarts and two link flaps', async () => {
  await using fabric = embeddedFabric({ ports: 1, auditIntervalMs: 200 });
  const words: string[][] = Array.from({ length: COUNT }, () => []);
  const subscriptions = new Subscription();
  words.forEach((said, index) => {
    const mgid = `ff12::${(index + 1).toString(16)}`;
    subscriptions.add(
      joinMulticast$({ provider: fabric, record: { mgid, ...creation } })
        .pipe(rejoinOnReset({ initialDelayMs: 20, maxDelayMs: 200 }))
        .subscribe({
          next: (event) => said.push(event.type === 'reset' ? event.reason : event.type),
          error: (error: unknown) => said.push(`failed: ${String(error)}`),
        }),
    );
  });
  const times = (said: string[], word: string) => said.filter((one) => one === word).length;
  const allMembers = async (outages: number): Promise<void> => {
    await until(() =>
      words.every((said) => times(said, 'joined') === outages + 1 && said.at(-1) === 'joined'),
    );
    expect(fabric.members()).toHaveLength(COUNT);
  };

  await allMembers(0);
  for (let restart = 1; restart <= 3; restart += 1) {
    fabric.restartSm();
    await allMembers(restart);
  }
  for (let flap = 1; flap <= 2; flap += 1) {
    fabric.portDown('embedded0');
    await until(() => words.every((said) => times(said, 'port-error') === flap));
    fabric.portUp('embedded0');
    await allMembers(3 + flap);
  }

  for (const said of words) {
    // While the port is down, joins fail with EAGAIN; nothing else stands between the milestones.
    expect(said.filter((word) => word !== 'error')).toEqual([
      'joined',
      ...Array.from({ length: 3 }, () => ['membership-lost', 'joined']).flat(),
      ...Array.from({ length: 2 }, () => ['port-error', 'joined']).flat(),
    ]);
  }
  expect(fabric.stats?.().handlesAlive).toBe(COUNT);
  subscriptions.unsubscribe();
  await fabric.idle?.();
  expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0, groups: 0 });
  expect(fabric.members()).toEqual([]);
});
