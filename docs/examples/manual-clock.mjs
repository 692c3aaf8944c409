// The real SA client under a manual clock: the answer to a join is lost, and time is ours.

import assert from 'node:assert/strict';
import { embeddedFabric, joinMulticast$ } from 'rx-ib-multicast';

const fabric = embeddedFabric({
  clock: 'manual',
  delayMs: 1,
  requestTimeoutMs: 3_000,
  attempts: 3,
});
const record = {
  mgid: 'ff12:cafe::10',
  qkey: 0xb1b,
  pkey: 0xffff,
  sl: 0,
  trafficClass: 0,
  flowLabel: 0,
};
const seen = [];
const observer = {
  next: (event) => seen.push(event.type === 'joined' ? 'joined' : event.error.code),
  error: () => undefined,
};

// One answer is lost: the second attempt, a second later, gets through.
fabric.loseReplies(1, 'set');
const first = joinMulticast$({ provider: fabric, record }).subscribe(observer);
fabric.tick(999);
assert.deepEqual(seen, []);
assert.equal(fabric.members().length, 1); // executed, but nobody knows
fabric.tick(3);
assert.deepEqual(seen, ['joined']);
first.unsubscribe();
fabric.tick(2);
assert.equal(fabric.members().length, 0);

// All are lost: the join times out, and a Delete undoes what it may have done.
fabric.loseReplies(3, 'set');
joinMulticast$({ provider: fabric, record }).subscribe(observer);
fabric.tick(3_000);
assert.deepEqual(seen, ['joined', 'ETIMEDOUT']);
fabric.tick(2);
assert.equal(fabric.members().length, 0);
assert.equal(fabric.stats().compensatingLeaves, 1);

await fabric.close();
console.log(seen.join(', '));
