// A failover, rehearsed: the standby takes over without the groups and is silent at first. The
// membership comes back by itself, and work that needs it runs only while it stands.

import assert from 'node:assert/strict';
import { embeddedFabric, joinMulticast$, rejoinOnReset, whileJoined } from 'rx-ib-multicast';
import { interval, map, tap } from 'rxjs';

const fabric = embeddedFabric({ requestTimeoutMs: 100 });
const record = {
  mgid: 'ff12:cafe::10',
  qkey: 0xb1b,
  pkey: 0xffff,
  sl: 0,
  trafficClass: 0,
  flowLabel: 0,
};

const life = [];
const reports$ = joinMulticast$({ provider: fabric, record }).pipe(
  rejoinOnReset({ initialDelayMs: 50 }),
  tap((event) => life.push(event.type === 'joined' ? 'joined' : event.error.code)),
  whileJoined(({ record: { mlid } }) => interval(20).pipe(map((n) => `report ${n}, MLID ${mlid}`))),
);

const work = reports$.subscribe({
  next: (line) => console.log(line),
  error: (error) => {
    console.error('gave up:', error.message);
    process.exitCode = 1;
  },
});

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await sleep(100);
console.log('the standby takes over');
fabric.takeover(9);
fabric.silenceSm();
await sleep(300);
console.log('it answers');
fabric.resumeSm();
await sleep(600);

work.unsubscribe();
await fabric.idle();
console.log(life.join(', '));
assert.deepEqual([life[0], life[1], life.at(-1)], ['joined', 'ENETRESET', 'joined']);
assert.equal(fabric.members().length, 0);
assert.equal(fabric.stats().handlesAlive, 0);
await fabric.close();
