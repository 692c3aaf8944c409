// JavaScript heap per idle membership, the caller's request and subscription included. A process of
// its own, run with --expose-gc; prints a line of JSON. The native part is engine-bench --memory.
//
//   node --expose-gc bench/memory.mjs GROUPS

import { embeddedFabric, joinMulticast$ } from '../dist/index.js';
import { joinAll, requestsFor } from './memberships.mjs';

const groups = Number(process.argv[2]);
const provider = embeddedFabric({ mlidPool: 0x3fff, groupsPerMlid: 16, auditIntervalMs: 0 });
// The first memberships bring code, maps and tables that the others share.
const first = await joinAll(requestsFor(provider, 100), joinMulticast$);

function heapInUse() {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const empty = heapInUse();
const requests = requestsFor(provider, groups + 100).slice(100);
const requested = heapInUse();
const subscriptions = await joinAll(requests, joinMulticast$);
const joined = heapInUse();
console.log(
  JSON.stringify({
    requestBytes: (requested - empty) / groups,
    bytesPerMembership: (joined - empty) / groups,
  }),
);
for (const subscription of [...first, ...subscriptions]) subscription.unsubscribe();
await provider.close();
