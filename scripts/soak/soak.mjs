// Random joins, leaves and faults for a given time, with the invariants checked all along. Every so
// often the weather clears up and all are members again; then everybody leaves, and nothing may be
// left. Only such points of rest are compared for growth, since they are alike.

import { readdirSync } from 'node:fs';
import { joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';

const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
const STORM_MS = 8_000;
// The first rests are warm-up: caches and pools fill, and functions are compiled.
const WARM_UP_RESTS = 2;
const LIMITS = { rssMb: 24, heapMb: 4, descriptors: 0, threads: 0 };

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const count = (folder) => readdirSync(folder).length;

function check(condition, what) {
  if (!condition) throw new Error(`soak: ${what}`);
}

async function until(condition, what, limitMs = 120_000) {
  const limit = performance.now() + limitMs;
  while (!condition()) {
    check(performance.now() < limit, `waited in vain for ${what()}`);
    await sleep(20);
  }
}

function resources() {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rssMb: rss / 2 ** 20,
    heapMb: heapUsed / 2 ** 20,
    // The listing itself has one open.
    descriptors: count('/proc/self/fd') - 1,
    threads: count('/proc/self/task'),
  };
}

/**
 * Soaks one provider.
 *
 * `fault()` brings one at random, `calm()` ends all of them and resolves when the fabric is whole.
 * `memberships()`, where the fabric can be asked, gives the MGIDs joined.
 */
export async function soak({ provider, groups, seconds, random, fault, calm, memberships }) {
  const members = new Map();
  const totals = { joins: 0, leaves: 0, resets: 0, failures: 0, faults: 0, checks: 0, rests: 0 };
  const maxOutstanding = 256;
  let begun = 0;
  const samples = [];

  const join = (index) => {
    const mgid = `ff12:50ac::${(index + 1).toString(16)}`;
    const member = { mgid, joined: false, gone: false, subscription: undefined };
    members.set(index, member);
    totals.joins += 1;
    member.subscription = joinMulticast$({ provider, record: { mgid, ...creation } })
      .pipe(
        rejoinOnReset({
          initialDelayMs: 20,
          maxDelayMs: 300,
          stableMs: 0,
          graceMs: 1e9,
          retryInitial: true,
        }),
      )
      .subscribe({
        next: (event) => {
          check(!member.gone, `${mgid} was told ${event.type} after it had left`);
          if (event.type === 'joined') {
            check(!member.joined, `${mgid} joined twice`);
            check(event.record.mgid === mgid, `${mgid} was given ${event.record.mgid}`);
            member.joined = true;
          } else {
            if (event.type === 'reset') totals.resets += 1;
            else totals.failures += 1;
            check(event.type !== 'error' || !member.joined, `${mgid} failed while it was joined`);
            member.joined = false;
          }
        },
        error: (error) => {
          throw new Error(`soak: ${mgid} gave up`, { cause: error });
        },
      });
    begun += 1;
  };
  const leave = (index) => {
    const member = members.get(index);
    members.delete(index);
    totals.leaves += 1;
    member.subscription.unsubscribe();
    member.gone = true;
  };
  const lookAtCounters = () => {
    const stats = provider.stats();
    totals.checks += 1;
    check(
      stats.handlesAlive <= members.size,
      `${stats.handlesAlive} handles for ${members.size} members`,
    );
    check(stats.joinsStarted - stats.handlesFreed === stats.handlesAlive, 'handles do not add up');
    check(stats.outstanding <= maxOutstanding, `${stats.outstanding} requests outstanding`);
    check(stats.malformedReplies + stats.foreignReplies === 0, 'answers that fit no question');
  };

  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const stormEnd = Math.min(end, performance.now() + STORM_MS);
    while (performance.now() < stormEnd) {
      for (let actions = Math.floor(random() * 40); actions > 0; actions -= 1) {
        const index = Math.floor(random() * groups);
        if (members.has(index)) leave(index);
        else join(index);
      }
      if (random() < 0.15) {
        totals.faults += 1;
        fault();
      }
      lookAtCounters();
      await sleep(5 + random() * 30);
    }
    await calm();
    // A lost membership is found by an audit at the latest.
    await until(
      () =>
        [...members.values()].every(({ joined }) => joined) &&
        (memberships === undefined || memberships().length >= members.size),
      () => `all ${members.size} to be members`,
    );
    if (memberships !== undefined) {
      await until(
        () => memberships().length === members.size,
        () => `${memberships().length} memberships to become ${members.size}`,
      );
      const known = new Set(memberships());
      for (const { mgid } of members.values()) check(known.has(mgid), `${mgid} is no member`);
    }
    for (const index of [...members.keys()]) leave(index);
    await provider.idle();
    lookAtCounters();
    if (memberships !== undefined) {
      await until(
        () => memberships().length === 0,
        () => `${memberships().length} memberships to go`,
      );
    }
    await until(
      () => provider.stats().groups === 0,
      () => 'the group table to be empty',
      60_000,
    );
    check(provider.stats().handlesAlive === 0, 'handles are left');
    check(provider.stats().outstanding === 0, 'requests are left');
    totals.rests += 1;
    samples.push(resources());
  }

  const first = samples[Math.min(WARM_UP_RESTS, samples.length - 1)];
  const last = samples.at(-1);
  const growth = Object.fromEntries(
    Object.keys(LIMITS).map((name) => [name, Number((last[name] - first[name]).toFixed(1))]),
  );
  for (const [name, limit] of Object.entries(LIMITS)) {
    check(
      growth[name] <= limit,
      `${name} grew by ${growth[name]}, from ${first[name]} to ${last[name]}`,
    );
  }
  return {
    seconds,
    groups,
    begun,
    ...totals,
    saRequests: provider.stats().saRequests,
    growth,
    last,
  };
}
