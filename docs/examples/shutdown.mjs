// A service that leaves its groups on SIGTERM and then ends by itself. Here it signals itself. The
// handlers come first: a signal before them would end the process with groups joined.

import assert from 'node:assert/strict';
import { embeddedFabric, joinMulticastAll$, rejoinOnReset } from 'rx-ib-multicast';
import { Subscription } from 'rxjs';

const provider = embeddedFabric({ delayMs: 5 });
const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
const requests = ['ff12:cafe::1', 'ff12:cafe::2'].map((mgid) => ({
  provider,
  record: { mgid, ...creation },
}));

const memberships = new Subscription();
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, shutDown);

async function shutDown() {
  memberships.unsubscribe();
  await provider.idle();
  assert.equal(provider.members().length, 0);
  console.log('left');
  // Nothing holds the process any more.
}

memberships.add(
  joinMulticastAll$(requests, { each: rejoinOnReset() }).subscribe({
    next: (event) => console.log(event.type, event.request.record.mgid),
    error: (error) => console.error(error.message),
  }),
);

setTimeout(() => process.kill(process.pid, 'SIGTERM'), 300);
