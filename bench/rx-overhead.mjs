// What Rx costs on top of a provider: joinMulticast$ with rejoinOnReset, the provider's bare
// callback, and fromEventPattern over it. The provider answers at once, so that nothing else is
// measured. A process of its own, run with --expose-gc.

import { fromEventPattern } from 'rxjs';
import { joinMulticast$, rejoinOnReset } from '../dist/index.js';
import { requestsFor } from './memberships.mjs';
import { median, spread } from './statistics.mjs';

const record = {
  mgid: 'ff12:be00::1',
  portGid: 'fe80::1',
  qkey: 0xb1b,
  mlid: 0xc001,
  joinState: ['full-member'],
};
const provider = {
  name: 'instant',
  joinMulticast(request, callback) {
    callback({ status: 0, record });
    return {};
  },
  freeMulticast() {},
};
const [request] = requestsFor(provider, 1);
const ignore = () => {};

const variants = {
  joinMulticast: () => joinMulticast$(request).subscribe(ignore),
  withRejoin: () => joinMulticast$(request).pipe(rejoinOnReset()).subscribe(ignore),
  bareCallback: () => {
    const handle = provider.joinMulticast(request, ignore);
    return { unsubscribe: () => provider.freeMulticast(handle) };
  },
  fromEventPattern: () =>
    fromEventPattern(
      (handler) => provider.joinMulticast(request, handler),
      (_, handle) => provider.freeMulticast(handle),
    ).subscribe(ignore),
};

const CYCLES = 20_000;
const ROUNDS = 15;
const nanoseconds = Object.fromEntries(Object.keys(variants).map((name) => [name, []]));
for (let round = -3; round < ROUNDS; round += 1) {
  for (const [name, subscribe] of Object.entries(variants)) {
    globalThis.gc();
    const start = performance.now();
    for (let i = 0; i < CYCLES; i += 1) subscribe().unsubscribe();
    // The first rounds are the compiler's.
    if (round >= 0) nanoseconds[name].push(((performance.now() - start) * 1e6) / CYCLES);
  }
}

function bytesPerSubscription(subscribe) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const subscriptions = Array.from({ length: CYCLES }, subscribe);
  globalThis.gc();
  const bytes = (process.memoryUsage().heapUsed - before) / CYCLES;
  for (const subscription of subscriptions) subscription.unsubscribe();
  return bytes;
}

console.log(
  JSON.stringify(
    Object.fromEntries(
      Object.entries(variants).map(([name, subscribe]) => [
        name,
        {
          nsPerEvent: median(nanoseconds[name]),
          spread: spread(nanoseconds[name]),
          bytesPerSubscription: bytesPerSubscription(subscribe),
        },
      ]),
    ),
  ),
);
