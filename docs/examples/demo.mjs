// The main job on an embedded fabric: three groups joined, the subnet manager restarted behind them,
// the resets, the rejoins, and the teardown. The closing line is computed from the engine's counters.

import { embeddedFabric, joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';
import { merge } from 'rxjs';

const fabric = embeddedFabric({ auditIntervalMs: 50 });
const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
const groups = ['ff12:cafe::1', 'ff12:cafe::2', 'ff12:cafe::3'];

console.log('a simulated fabric in this process; no hardware is touched');
const started = performance.now();
let joined = 0;

const memberships = merge(
  ...groups.map((mgid) =>
    joinMulticast$({ provider: fabric, record: { mgid, ...creation } }).pipe(
      rejoinOnReset({ initialDelayMs: 100 }),
    ),
  ),
).subscribe({
  next: (event) => {
    const ms = (performance.now() - started).toFixed(0).padStart(6);
    const where = event.request.record.mgid;
    const what =
      event.type === 'joined' ? `MLID 0x${event.record.mlid.toString(16)}` : event.reason;
    console.log(`${ms} ms  ${where}  ${event.type.padEnd(6)}  ${what}`);
    if (event.type !== 'joined') return;
    joined += 1;
    // All are members: the subnet manager restarts without asking anybody to register anew. The
    // membership audit finds out.
    if (joined === groups.length) {
      console.log(
        '           the subnet manager restarts, forgets them all, and assigns MLIDs anew',
      );
      fabric.restartSm();
    }
    if (joined === 2 * groups.length) memberships.unsubscribe();
  },
  error: (error) => {
    console.error(`the demo failed: ${error.message}`);
    process.exitCode = 1;
  },
});

memberships.add(async () => {
  await fabric.idle();
  const stats = fabric.stats();
  const first = groups.length;
  const leaked = stats.handlesAlive + fabric.members().length;
  await fabric.close();
  console.log(
    `${first} groups, ${Math.min(stats.joined, first)} joined, ${stats.resets} reset, ` +
      `${stats.joined - first} rejoined, ${stats.handlesFreed} freed, ${leaked} leaked`,
  );
  if (leaked > 0) process.exitCode = 1;
});
