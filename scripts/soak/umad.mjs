// One soak through libibumad, in a process on a simulated host whose parent makes the weather:
// node --expose-gc umad.mjs SECONDS SEED

import { umad } from 'rx-ib-multicast';
import { randomFrom } from './random.mjs';
import { soak } from './soak.mjs';

const [seconds, seed] = process.argv.slice(2).map(Number);
const random = randomFrom(seed);
// While OpenSM stands still, for 2.5 seconds at most, each place of the window sends an attempt every third
// of a second, and all of them are answered afterwards. The simulator can be stuck for good when a client
// has more than some 256 requests under way, so the window is half of the default.
const provider = umad({
  requestTimeoutMs: 1000,
  auditIntervalMs: 100,
  staleLeaveMs: 1000,
  maxOutstanding: 32,
});

let asked = 0;
const waiting = new Map();
process.on('message', ({ serial, value }) => {
  waiting.get(serial)?.(value);
  waiting.delete(serial);
});
const ask = (what) =>
  new Promise((resolve) => {
    asked += 1;
    waiting.set(asked, resolve);
    process.send({ what, serial: asked });
  });

const report = await soak({
  provider,
  groups: 500,
  seconds,
  random,
  // A fault takes its time here; the parent skips those that come while one is under way.
  fault: () => void ask('fault'),
  calm: () => ask('calm'),
});
await provider.close();
report.membersLeft = await ask('groups');
console.log(JSON.stringify(report));
process.disconnect();
