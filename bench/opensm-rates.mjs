// Joins and leaves through joinMulticast$ and umad() against the subnet manager of a simulated
// fabric: native/bench/umad_peer.c does the same without us. A process of its own; see contestant.mjs.
//
//   node bench/opensm-rates.mjs WINDOW GROUPS

import { joinMulticast$, umad } from '../dist/index.js';
import { passes } from './contestant.mjs';
import { joinAll, leaveAll, requestsFor } from './memberships.mjs';
import { quantile } from './statistics.mjs';

const [window, groups] = process.argv.slice(2).map(Number);
const provider = umad({ maxOutstanding: window, auditIntervalMs: 0 });
const requests = requestsFor(provider, groups);

/** One request in each place of the window, as the peer has it; microseconds. */
function latencies() {
  return new Promise((resolve, reject) => {
    const took = [];
    const subscriptions = [];
    let next = 0;
    const join = () => {
      const start = performance.now();
      const observer = {
        next: () => {
          took.push((performance.now() - start) * 1000);
          if (next < groups) join();
          else if (took.length === groups) resolve({ took, subscriptions });
        },
        error: reject,
      };
      subscriptions.push(joinMulticast$(requests[next++]).subscribe(observer));
    };
    for (let i = 0; i < Math.min(window, groups); i += 1) join();
  });
}

// What is measured is compiled code, not the compiler.
for (let i = 0; i < 5; i += 1) await leaveAll(provider, await joinAll(requests, joinMulticast$));

await passes(async () => {
  const start = performance.now();
  const members = await joinAll(requests, joinMulticast$);
  const joined = performance.now();
  await leaveAll(provider, members);
  const left = performance.now();
  const { took, subscriptions } = await latencies();
  await leaveAll(provider, subscriptions);
  return {
    joinsPerSecond: (groups * 1000) / (joined - start),
    leavesPerSecond: (groups * 1000) / (left - joined),
    p50Us: quantile(took, 0.5),
    p99Us: quantile(took, 0.99),
  };
});
await provider.close();
