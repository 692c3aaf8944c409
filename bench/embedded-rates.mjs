// Joins and frees through joinMulticast$ on the embedded fabric: native/bench/engine_bench.cc is
// the same without JavaScript. A process of its own; see contestant.mjs.
//
//   node bench/embedded-rates.mjs GROUPS

import { embeddedFabric, joinMulticast$ } from '../dist/index.js';
import { passes } from './contestant.mjs';
import { joinAll, leaveAll, requestsFor } from './memberships.mjs';

const groups = Number(process.argv[2]);
const provider = embeddedFabric({ mlidPool: 0x3fff, groupsPerMlid: 16, auditIntervalMs: 0 });

// What is measured is compiled code, not the compiler.
const warmUp = requestsFor(provider, 2_000);
for (let i = 0; i < 5; i += 1) await leaveAll(provider, await joinAll(warmUp, joinMulticast$));

const requests = requestsFor(provider, groups);
await passes(async () => {
  const start = performance.now();
  const subscriptions = await joinAll(requests, joinMulticast$);
  const joined = performance.now();
  await leaveAll(provider, subscriptions);
  const left = performance.now();
  return {
    joinsPerSecond: (groups * 1000) / (joined - start),
    freesPerSecond: (groups * 1000) / (left - joined),
  };
});
await provider.close();
