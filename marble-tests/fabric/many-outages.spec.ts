import { describe, expect, it } from 'vitest';
import { creation, withFabric } from './fabric-test.js';

const COUNT = 200;

describe('200 memberships through three restarts and two link flaps', () => {
  const at = withFabric({ hosts: 3 }, true);

  it('are all members again, and leave nothing behind', async () => {
    const fabric = await at.fresh();
    const member = await at.member();
    const provider = { auditIntervalMs: 200 };
    const rejoin = { initialDelayMs: 100, maxDelayMs: 1000, stableMs: 100 };
    const ids = Array.from({ length: COUNT }, (_, index) => `g${String(index + 1)}`);
    await member.command('together', {
      list: ids.map((id, index) => ({
        do: 'join',
        id,
        provider,
        rejoin,
        request: { record: { mgid: `ff12:cafe:0:5::${(index + 1).toString(16)}`, ...creation } },
      })),
    });

    const joinedTimes = (id: string) => member.words(id).filter((word) => word === 'joined').length;
    const resets = (id: string) =>
      member.words(id).filter((word) => word.startsWith('reset')).length;
    const allMembers = async (outages: number) => {
      await member.says(
        () => ids.every((id) => resets(id) >= outages && joinedTimes(id) > resets(id)),
        60_000,
      );
      // The stream says so, and so does the subnet manager.
      expect(await at.groups()).toHaveLength(COUNT);
    };
    await allMembers(0);
    for (let restart = 1; restart <= 3; restart += 1) {
      await fabric.opensm.restart();
      await allMembers(restart);
    }
    for (let flap = 1; flap <= 2; flap += 1) {
      await fabric.console('Unlink "Hca2"[1]');
      await member.says(() => ids.every((id) => resets(id) >= 3 + flap), 60_000);
      await fabric.console('ReLink "Hca2"[1]');
      fabric.opensm.sweep();
      await allMembers(3 + flap);
    }

    for (const id of ids) {
      const words = member.words(id);
      expect(words[0]).toBe('joined');
      // Between a reset and the next joined there is nothing but retryable failures.
      for (const [index, word] of words.entries()) {
        if (word.startsWith('joined')) continue;
        expect(word).toMatch(
          /^(reset (membership-lost|port-error|lid-change|sm-change)|error \w+)$/,
        );
        expect(index).toBeGreaterThan(0);
      }
      expect(words.at(-1)).toBe('joined');
    }
    expect(await member.stats(provider)).toMatchObject({ handlesAlive: COUNT });
    await member.command('together', { list: ids.map((id) => ({ do: 'leave', id })) });
    await member.command('idle');
    expect(await member.stats(provider)).toMatchObject({ handlesAlive: 0, groups: 0 });
    expect(await at.groups()).toEqual([]);
    await member.finish();
  }, 240_000);
});
