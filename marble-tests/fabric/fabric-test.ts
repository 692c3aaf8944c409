import { afterAll, afterEach, beforeAll } from 'vitest';
import { startFabric } from '../../scripts/fabric/simulator.mjs';
import type { FabricOptions, SimulatedFabric } from '../../scripts/fabric/simulator.mjs';
import type { SaPortOptions } from '../../src/contract/provider.js';
import type { McMemberRecordInit } from '../../src/records/mc-member-record.js';
import { MemberProcess } from './member-process.js';
import { hearingReports } from './reports.js';

/** The fields that create a group. */
export const creation = {
  qkey: 0xb1b,
  pkey: 0xffff,
  sl: 0,
  trafficClass: 0,
  flowLabel: 0,
} satisfies McMemberRecordInit;

/** One fabric for the tests of a file, or one for each test. */
export function withFabric(options: FabricOptions, each = false) {
  let fabric: SimulatedFabric | undefined;
  const members: MemberProcess[] = [];
  const start = async (): Promise<void> => {
    fabric = await startFabric(options);
  };
  const stop = async (): Promise<void> => {
    await fabric?.stop();
    fabric = undefined;
  };
  if (each) {
    // Registered here, so that it runs before the members' own end.
    beforeAll(() => undefined);
    afterEach(async () => {
      for (const member of members.splice(0)) member.kill();
      await stop();
    });
  } else {
    beforeAll(start);
    afterEach(async () => {
      const fabricNow = fabric;
      for (const member of members.splice(0)) {
        member.kill();
        await member.ended;
        await fabricNow?.disconnect(member.pid);
      }
    });
    afterAll(stop);
  }
  return {
    /** A fresh fabric, for files with one per test. */
    fresh: async (): Promise<SimulatedFabric> => {
      await start();
      return current();
    },
    get fabric(): SimulatedFabric {
      return current();
    },
    /** A process on a host; ended with the test. */
    member: async (host = 'Hca2'): Promise<MemberProcess> => {
      const member = await MemberProcess.start(current().env(host));
      members.push(member);
      return member;
    },
    /** A process that hears reports and watches groups as `id`. One on a host at a time. */
    watcher: async (id: string, provider?: SaPortOptions): Promise<MemberProcess> => {
      const member = await MemberProcess.start(hearingReports(current().env('Hca2')));
      members.push(member);
      await member.command('watch', { id, provider });
      await member.sequence(id, ['subscribed']);
      return member;
    },
    /** The MGIDs of the groups that ports have joined, without OpenSM's own. */
    groups: async (): Promise<string[]> =>
      (await current().groups())
        .filter((group) => !group.wellKnown)
        .map((group) => group.mgid)
        .sort(),
  };
  function current(): SimulatedFabric {
    if (fabric === undefined) throw new Error('the fabric is not up');
    return fabric;
  }
}
