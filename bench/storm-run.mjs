// Many memberships with rejoinOnReset, on one or several simulated hosts, and a restart of their one
// subnet manager that asks everybody to register anew. A process of its own.
//
//   node bench/storm-run.mjs MEMBERSHIPS HOSTS SERVICE_RATE WINDOW JITTER

import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { embeddedFabric, joinMulticast$, rejoinOnReset } from '../dist/index.js';
import { leaveAll, requestsFor } from './memberships.mjs';

const [memberships, hosts, serviceRate, window, jitter] = process.argv.slice(2).map(Number);
const SAMPLE_MS = 20;

const fabric = embeddedFabric({
  ports: hosts,
  mlidPool: 0x3fff,
  groupsPerMlid: 16,
  maxOutstanding: window,
  auditIntervalMs: 0,
  requestTimeoutMs: 60_000,
});
const requests = requestsFor(fabric, memberships, { port: 1, joinTimeoutMs: 120_000 }).map(
  (request, index) => ({ ...request, device: `embedded${index % hosts}` }),
);
let resets = 0;
let back = 0;
let allBack = () => {};
const join$ = (request) =>
  joinMulticast$(request).pipe(rejoinOnReset({ initialDelayMs: 1_000, jitter }));
const subscriptions = [];
await new Promise((resolve) => {
  let missing = memberships;
  for (const request of requests) {
    subscriptions.push(
      join$(request).subscribe((event) => {
        if (event.type === 'reset') resets += 1;
        else if (missing > 0 && --missing === 0) resolve();
        else if (resets > 0 && ++back === memberships) allBack();
      }),
    );
  }
});

const loop = monitorEventLoopDelay({ resolution: 1 });
async function longestBlockDuring(work) {
  // The first sample after enable() is not one.
  loop.enable();
  await delay(20);
  loop.reset();
  await work();
  loop.disable();
  return Math.max(0, loop.max / 1e6 - 1);
}

// What the machine does to a loop that has nothing to do.
const idleBlockMs = await longestBlockDuring(() => delay(1_000));

let collectionMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectionMs = Math.max(collectionMs, duration);
}).observe({ entryTypes: ['gc'] });
fabric.setServiceRate(serviceRate);
const samples = [];
let recoveryMs = 0;
const blockMs = await longestBlockDuring(async () => {
  const start = performance.now();
  const done = new Promise((resolve) => (allBack = resolve));
  const sampler = setInterval(() => {
    samples.push([Math.round(performance.now() - start), fabric.counters().queued]);
  }, SAMPLE_MS);
  fabric.restartSm({ reregister: true });
  await done;
  recoveryMs = performance.now() - start;
  clearInterval(sampler);
});
const perHost = fabric.stats().ports.map((port) => port.outstandingPeak);
console.log(
  JSON.stringify({
    memberships,
    hosts,
    serviceRate,
    window,
    jitter,
    blockMs,
    idleBlockMs,
    collectionMs,
    recoveryMs,
    outstandingPeakPerHost: Math.max(...perHost),
    queuedPeak: Math.max(0, ...samples.map(([, queued]) => queued)),
    samples,
  }),
);
fabric.setServiceRate(0);
await leaveAll(fabric, subscriptions);
await fabric.close();
