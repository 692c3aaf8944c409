// What joinMulticast$ and its provider promise, whichever provider it is: the one table that the embedded
// fabric, umad at a real OpenSM and rdmacm on a real kernel are put to.
//
// A case that a backend cannot express names it in `except`, with the reason.

import { config, firstValueFrom, retry, VirtualTimeScheduler } from 'rxjs';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  addressHandleFromMcMember,
  joinMulticast,
  joinMulticast$,
  joinMulticastAll$,
  MulticastError,
  queryGroups$,
  registerSaClient,
  rejoinOnReset,
  shareMembership,
  whileJoined,
} from 'rx-ib-multicast';
import { delay, equal, truth, until } from '../kernel/checks.mjs';

const NO_QUERIES = 'the connection manager has no way to ask a subnet administrator';
const NO_FIELDS = 'of a record the connection manager takes the group and the join state';
const OWN_FABRIC = 'each embedded fabric is its own';

/** Subscribes and keeps what happens, in order. */
function watch(request, operator = (source) => source) {
  const seen = { events: [], error: undefined, subscription: undefined };
  seen.subscription = operator(joinMulticast$(request)).subscribe({
    next: (event) => seen.events.push(event),
    error: (error) => {
      seen.error = error;
    },
  });
  return seen;
}

async function joined(request, operator) {
  const seen = watch(request, operator);
  await until(() => seen.events.length > 0, 'a first event');
  if (seen.events[0].type !== 'joined') throw seen.events[0].error;
  return seen;
}

/** The error of a join that fails, which has to be an event first. */
async function failure(request) {
  const seen = watch(request);
  await until(() => seen.error !== undefined, 'a failure');
  equal(
    seen.events.map(({ type }) => type),
    ['error'],
    'the events',
  );
  const [event] = seen.events;
  truth(event.error === seen.error, 'event and notification have the same error');
  truth(seen.error instanceof MulticastError, 'it is a MulticastError');
  equal(event.status, seen.error.status, 'the status of the event');
  return seen.error;
}

function thrownBy(run) {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}

/** What a subscription fails with before any event. */
function misuse(request) {
  const seen = watch(request);
  equal(seen.events.length, 0, 'events');
  truth(seen.error !== undefined, 'it failed within subscribe');
  return seen.error;
}

const alive = ({ provider }) => provider.stats().handlesAlive;

/** How many handles `run` has had made and freed. */
async function counted({ provider }, run) {
  const before = provider.stats();
  await run();
  const after = provider.stats();
  return [
    after.joinsStarted - before.joinsStarted,
    after.handlesFreed - before.handlesFreed,
    after.handlesAlive - before.handlesAlive,
  ];
}

const range = (count, make) => Array.from({ length: count }, (_, n) => make(n));

/** Each has `name`, `run(backend)` and, where need be, `except`: reasons by the name of a backend. */
export const CONTRACT_CASES = [
  {
    name: 'joined is told once, with status 0, record, request and context',
    async run(at) {
      const context = { mine: true };
      const seen = await joined({ ...at.request(1), context });
      const [event] = seen.events;
      equal([event.type, event.status], ['joined', 0], 'the event');
      truth(event.context === context, 'the context is the same');
      const { request, record } = event;
      truth(request.provider === at.provider, 'the request names its provider');
      equal([request.device, request.port], [at.device, at.port], 'its place');
      equal([record.joinState, record.pkey], [['full-member'], 0xffff], 'join state and P_Key');
      truth(record.mgid !== '::' && record.portGid !== '::', 'there are an MGID and a port GID');
      const other = await joined(at.request(2));
      equal(seen.events.length, 1, 'events');
      for (const { subscription } of [seen, other]) subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'device and port are chosen where the request leaves them open',
    async run(at) {
      const { device, port, ...request } = at.request(1);
      const seen = await joined(request);
      const [event] = seen.events;
      equal([event.request.device, event.request.port], [device, port], 'the place');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a request factory is called once for each subscription',
    async run(at) {
      let calls = 0;
      const joined$ = joinMulticast$(() => at.request((calls += 1)));
      equal(calls, 0, 'calls before');
      const mgids = await Promise.all(range(2, () => firstValueFrom(joined$))).then((events) =>
        events.map(({ record }) => record.mgid),
      );
      equal([calls, new Set(mgids).size], [2, 2], 'calls, and groups');
      await at.settled();
    },
  },
  {
    name: 'each subscription is one handle, which is freed once however often it is unsubscribed',
    async run(at) {
      const counts = await counted(at, async () => {
        const seen = await joined(at.request(1));
        equal(alive(at), 1, 'handles while joined');
        seen.subscription.unsubscribe();
        seen.subscription.unsubscribe();
        equal(alive(at), 0, 'handles once unsubscribed');
        await at.settled();
      });
      equal(counts, [1, 1, 0], 'made, freed, alive');
    },
  },
  {
    name: 'two subscriptions of one group are two memberships, and either outlives the other',
    async run(at) {
      for (const first of [0, 1]) {
        const both = await Promise.all(range(2, () => joined(at.request(1))));
        equal(both[0].events[0].record.mgid, both[1].events[0].record.mgid, 'the MGID');
        both[first].subscription.unsubscribe();
        await at.provider.idle();
        await delay(20);
        equal([alive(at), at.provider.stats().groups], [1, 1], 'what is left');
        equal(both[1 - first].events.length, 1, 'events of the other');
        both[1 - first].subscription.unsubscribe();
        await at.settled();
      }
    },
  },
  {
    name: 'a group is left by one and joined by another in the same turn',
    async run(at) {
      const one = await joined(at.request(1));
      one.subscription.unsubscribe();
      const two = await joined(at.request(1));
      await at.provider.idle();
      equal([two.events.length, two.error], [1, undefined], 'the second');
      two.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'left in the turn in which it was joined, nothing is told and nothing stays',
    async run(at) {
      const all = range(20, (n) => watch(at.request(n)));
      for (const { subscription } of all) subscription.unsubscribe();
      await at.settled();
      await delay(50);
      equal(all.flatMap(({ events }) => events).length, 0, 'events');
    },
  },
  {
    name: 'left at any moment of the join, nothing is told afterwards and nothing stays',
    async run(at) {
      const late = [];
      await Promise.all(
        range(60, async (n) => {
          const seen = watch(at.request(n));
          // From the next turn on to well after the answer.
          for (let turns = 0; turns < n; turns += 1) await turn();
          seen.subscription.unsubscribe();
          late.push({ seen, then: seen.events.length });
        }),
      );
      await at.settled();
      await delay(50);
      for (const { seen, then } of late) equal(seen.events.length, then, 'events');
    },
  },
  {
    name: 'left inside the joined handler, 100 of 100',
    async run(at) {
      await Promise.all(
        range(
          100,
          (n) =>
            new Promise((resolve, reject) => {
              const subscription = joinMulticast$(at.request(n)).subscribe({
                next: () => {
                  subscription.unsubscribe();
                  resolve();
                },
                error: reject,
              });
            }),
        ),
      );
      await at.settled();
    },
  },
  {
    name: 'fifty joins and leaves of one group, one after the other',
    async run(at) {
      const counts = await counted(at, async () => {
        for (let n = 0; n < 50; n += 1) await firstValueFrom(joinMulticast$(at.request(1)));
        await at.settled();
      });
      equal(counts, [50, 50, 0], 'made, freed, alive');
    },
  },
  {
    name: 'a handler that throws keeps its membership, and the others their events',
    async run(at) {
      const thrown = [];
      config.onUnhandledError = (error) => thrown.push(error);
      try {
        const bad = joinMulticast$(at.request(1)).subscribe({
          next: () => {
            throw new Error('on purpose');
          },
        });
        const all = await Promise.all(range(10, (n) => joined(at.request(n + 2))));
        await until(() => thrown.length > 0, 'the error, reported');
        equal(
          thrown.map(({ message }) => message),
          ['on purpose'],
          'what was reported',
        );
        equal(alive(at), 11, 'handles');
        for (const { subscription } of all) subscription.unsubscribe();
        bad.unsubscribe();
        await at.settled();
      } finally {
        config.onUnhandledError = null;
      }
    },
  },
  {
    name: 'an unknown device or port is ENODEV, names what there is, and leaves no handle',
    async run(at) {
      const counts = await counted(at, async () => {
        for (const wrong of [{ device: 'mlx5_77' }, { port: 77 }]) {
          const error = await failure({ ...at.request(1), ...wrong });
          equal([error.code, error.retryable], ['ENODEV', false], 'the error');
          truth(error.message.includes(at.device), 'it names what there is');
        }
      });
      equal(counts, [0, 0, 0], 'made, freed, alive');
    },
  },
  {
    name: 'misuse is a bare TypeError or RangeError that names the field, without an event',
    async run(at) {
      const request = at.request(1);
      for (const [wrong, type, name] of [
        [{ group: '10.0.0.1' }, 'RangeError', 'group'],
        [{ group: 'all of them' }, 'TypeError', 'group'],
        [{ group: 7 }, 'TypeError', 'group'],
        [{ record: { mgid: 'ff12::1' } }, 'TypeError', 'group'],
        [{ port: 0 }, 'RangeError', 'port'],
        [{ port: '1' }, 'TypeError', 'port'],
        [{ device: '' }, 'TypeError', 'device'],
        [{ joinTimeoutMs: 0 }, 'RangeError', 'joinTimeoutMs'],
        [{ joinTimeoutMs: Number.NaN }, 'RangeError', 'joinTimeoutMs'],
        [{ record: { joinState: [] } }, 'RangeError', 'joinState'],
        [{ record: { joinState: 'member' } }, 'RangeError', 'joinState'],
        [{ record: { qqkey: 1 } }, 'TypeError', 'qqkey'],
        [{ componentMask: 1n << 18n }, 'RangeError', 'componentMask'],
      ]) {
        const error = misuse({ ...request, ...wrong });
        truth(!(error instanceof MulticastError), `${error} is no MulticastError`);
        truth(error.message.includes(name), `${error.message} names ${name}`);
        equal(error.constructor.name, type, `the error of ${name}`);
      }
    },
  },
  {
    name: 'joinTimeoutMs: ETIMEDOUT, freed before it is told, and a grant that comes later is left',
    async run(at) {
      const scheduler = new VirtualTimeScheduler();
      const request = { ...at.request(1), scheduler, joinTimeoutMs: 5 };
      const counts = await counted(at, async () => {
        const told = [];
        joinMulticast$(request).subscribe({
          next: ({ type, error }) => told.push(type, error.code, error.retryable, alive(at)),
          error: () => told.push(alive(at)),
        });
        scheduler.flush();
        equal(told, ['error', 'ETIMEDOUT', true, 0, 0], 'what is told, and the handles then');
        await at.settled();
      });
      equal(counts, [1, 1, 0], 'made, freed, alive');
    },
  },
  {
    name: 'a join may follow inside the failure of the one before',
    async run(at) {
      const scheduler = new VirtualTimeScheduler();
      let calls = 0;
      const types = [];
      const membership = joinMulticast$(() => ({
        ...at.request(1),
        ...((calls += 1) === 1 ? { scheduler } : {}),
      }))
        .pipe(retry(1))
        .subscribe(({ type }) => types.push(type));
      scheduler.flush();
      await until(() => types.length === 2, 'the second join');
      equal(types, ['error', 'joined'], 'the events');
      equal(alive(at), 1, 'handles');
      membership.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'two hundred groups at once, each joined once',
    async run(at) {
      const counts = await counted(at, async () => {
        const all = await Promise.all(range(200, (n) => joined(at.request(n))));
        equal(new Set(all.map(({ events }) => events[0].record.mgid)).size, 200, 'groups');
        equal(at.provider.stats().groups, 200, 'groups of the engine');
        for (const { subscription } of all) subscription.unsubscribe();
        await at.settled();
        equal(all.flatMap(({ events }) => events).length, 200, 'events');
      });
      equal(counts, [200, 200, 0], 'made, freed, alive');
    },
  },
  {
    name: 'a hundred subscriptions of one group',
    async run(at) {
      const all = await Promise.all(range(100, () => joined(at.request(1))));
      // From the middle, so that neither the first nor the last one is special.
      const [kept] = all.splice(50, 1);
      for (const { subscription } of all) subscription.unsubscribe();
      await at.provider.idle();
      equal([alive(at), at.provider.stats().groups], [1, 1], 'what is left');
      kept.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'the provider frees a handle once, inside its callback too, and calls nobody afterwards',
    async run(at) {
      const { request } = await firstValueFrom(joinMulticast$(at.request(1)));
      const counts = await counted(at, async () => {
        const calls = [];
        await new Promise((resolve) => {
          const handle = at.provider.joinMulticast(request, ({ status }) => {
            calls.push(status);
            at.provider.freeMulticast(handle);
            at.provider.freeMulticast(handle);
            resolve();
          });
        });
        const early = at.provider.joinMulticast(request, ({ status }) => calls.push(status));
        at.provider.freeMulticast(early);
        await at.settled();
        at.provider.freeMulticast(early);
        equal(calls, [0], 'calls');
      });
      equal(counts, [2, 2, 0], 'made, freed, alive');
    },
  },
  {
    name: 'a handle that is not the provider’s own is a TypeError',
    run(at) {
      for (const handle of [{}, undefined, null, 1, 'handle', at.provider]) {
        const error = thrownBy(() => at.provider.freeMulticast(handle));
        truth(error instanceof TypeError, `${String(error)} is a TypeError`);
      }
    },
  },
  {
    name: 'closing leaves without a word what is joined or joining; later joins are ESHUTDOWN',
    async run(at) {
      const provider = at.make();
      const standing = await joined({ ...at.request(1), provider });
      const joining = watch({ ...at.request(2), provider });
      await Promise.all([provider.close(), provider.close()]);
      const error = await failure({ ...at.request(3), provider });
      equal([error.code, error.retryable], ['ESHUTDOWN', false], 'a later join');
      await delay(20);
      equal([standing.events.length, standing.error], [1, undefined], 'what is told of the one');
      equal([joining.events.length, joining.error], [0, undefined], 'what is told of the other');
      standing.subscription.unsubscribe();
      joining.subscription.unsubscribe();
      await provider.idle();
      await at.settled();
    },
  },
  {
    name: 'closing one of two providers of a port takes nothing from the other',
    except: { embedded: OWN_FABRIC },
    async run(at) {
      const provider = at.make();
      const mine = await joined(at.request(1));
      const theirs = await joined({ ...at.request(1), provider });
      equal([alive(at), alive({ provider })], [2, 2], 'handles: counters are of the port');
      await provider.close();
      await at.provider.idle();
      equal([alive(at), mine.events.length, theirs.events.length], [1, 1, 1], 'what is left');
      mine.subscription.unsubscribe();
      theirs.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a worker that is terminated leaves what it has joined, and nothing of this thread’s',
    except: { embedded: OWN_FABRIC },
    async run(at) {
      const mine = await joined(at.request(1));
      const worker = new Worker(new URL('contract-worker.mjs', import.meta.url), {
        workerData: { backend: at.name, groups: [1, 2], joining: [3, 4] },
      });
      await new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      equal(alive(at), 5, 'handles of the port');
      await worker.terminate();
      await until(() => alive(at) === 1, 'the handles of the worker freed');
      await at.provider.idle();
      equal([mine.events.length, mine.error], [1, undefined], 'the membership of this thread');
      mine.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a membership outlives the collection of everything that its user has dropped',
    async run(at) {
      const events = [];
      const end = (() => {
        const subscription = joinMulticast$(at.request(1)).subscribe((event) => events.push(event));
        const leave = new WeakRef(subscription);
        return () => leave.deref()?.unsubscribe();
      })();
      await until(() => events.length > 0, 'joined');
      for (let n = 0; n < 3; n += 1) {
        globalThis.gc();
        await turn();
      }
      equal(alive(at), 1, 'handles');
      end();
      await at.settled();
    },
  },
  {
    name: 'idle() resolves at once where there is nothing to wait for',
    async run(at) {
      await at.make().idle();
      const seen = await joined(at.request(1));
      await at.provider.idle();
      equal(alive(at), 1, 'handles');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'joinMulticast() holds a membership until it is left, or its signal aborts',
    async run(at) {
      const membership = await joinMulticast(at.request(1));
      equal([alive(at), membership.record.joinState], [1, ['full-member']], 'the membership');
      await membership.leave();
      equal([await membership.lost, alive(at)], [undefined, 0], 'lost, and handles');
      const abort = new AbortController();
      const given = joinMulticast(at.request(2), { signal: abort.signal });
      abort.abort(new Error('changed my mind'));
      equal(
        await given.catch(({ message }) => message),
        'changed my mind',
        'a join that was aborted',
      );
      await at.settled();
    },
  },
  {
    name: 'a client is unregistered once its memberships are left, and takes no joins meanwhile',
    async run(at) {
      const { provider, device, port } = at;
      const client = registerSaClient({ provider, device, port });
      const { group, record } = at.request(1);
      const seen = await joined({ client, group, record });
      let ended = false;
      const unregistered = client.unregister().then(() => (ended = true));
      equal((await failure({ client, group, record })).code, 'ESHUTDOWN', 'a join meanwhile');
      equal(ended, false, 'unregistered');
      seen.subscription.unsubscribe();
      await unregistered;
      await at.settled();
    },
  },
  {
    name: 'the operators: one join shared, a stream while joined, many groups, no rejoin without a reset',
    async run(at) {
      const counts = await counted(at, async () => {
        const shared$ = joinMulticast$(at.request(1)).pipe(rejoinOnReset(), shareMembership());
        const inner = [];
        const both = range(2, () =>
          shared$.pipe(whileJoined(({ record }) => [record.mgid])).subscribe((m) => inner.push(m)),
        );
        await until(() => inner.length === 2, 'both streams');
        equal(inner[0], inner[1], 'the MGID');
        const all = [];
        const many = joinMulticastAll$(range(8, (n) => at.request(n + 2))).subscribe((event) =>
          all.push(event.type),
        );
        await until(() => all.length === 8, 'all groups');
        equal(alive(at), 9, 'handles');
        for (const subscription of [...both, many]) subscription.unsubscribe();
        await at.settled();
      });
      equal(counts, [9, 9, 0], 'made, freed, alive');
    },
  },
  {
    name: 'joins as a send-only full member',
    async run(at) {
      const seen = await joined(at.request(1, { joinState: 'send-only-full-member' }));
      equal(seen.events[0].record.joinState, ['send-only-full-member'], 'the state');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'the joined event has what a queue pair needs to send',
    async run(at) {
      const seen = await joined(at.request(1));
      const [{ record, request, addressHandle }] = seen.events;
      const handle =
        addressHandle ??
        addressHandleFromMcMember(
          record,
          at.provider.ports().find(({ device }) => device === request.device),
        );
      equal(
        [handle.port, handle.dlid, handle.sl, handle.grh.dgid],
        [at.port, record.mlid, record.sl, record.mgid],
        'the address handle',
      );
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'joins as a non-member, beside a full member',
    except: { rdmacm: 'the connection manager joins as full or send-only full member' },
    async run(at) {
      const full = await joined(at.request(1));
      const non = await joined(at.request(1, { joinState: 'non-member' }));
      equal(non.events[0].record.joinState, ['non-member'], 'the state');
      for (const { subscription } of [full, non]) subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a record that differs from the group’s is EINVAL, with the fields',
    except: { rdmacm: NO_FIELDS },
    async run(at) {
      const seen = await joined(at.request(1));
      const error = await failure(at.request(1, { qkey: 7 }));
      equal([error.code, error.fields], ['EINVAL', ['qkey']], 'the error');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a component mask of one’s own leaves a field out of the comparison',
    except: { rdmacm: NO_FIELDS },
    async run(at) {
      // MGID, port GID and join state.
      const componentMask = 0b1_0000_0000_0000_0011n;
      const all = [
        await joined(at.request(1)),
        await joined({ ...at.request(1, { qkey: 7 }), componentMask }),
      ];
      equal(all[1].events[0].record.qkey, 0xb1b, 'the Q_Key of the second');
      for (const { subscription } of all) subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'an IPv6 group',
    except: { rdmacm: 'RoCE v2 over IPv4 refuses it (status -524)' },
    async run(at) {
      const seen = await joined({ ...at.request(1), group: 'ff02::1234' });
      equal(seen.events[0].record.mgid, 'ff12:601b:ffff::1234', 'the MGID');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'a group by its MGID',
    except: { rdmacm: 'on RoCE there are IP groups only' },
    async run(at) {
      const { group, record, ...rest } = at.request(1);
      const seen = await joined({ ...rest, record: { ...record, mgid: 'ff12:cafe::77' } });
      equal(seen.events[0].record.mgid, 'ff12:cafe::77', `the MGID, not that of ${group}`);
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'what the request leaves out is inherited from the broadcast group',
    except: { rdmacm: NO_QUERIES },
    async run(at) {
      const { record, ...request } = at.request(1);
      const seen = await joined({ ...request, inherit: 'broadcast' });
      equal(seen.events[0].record.qkey, record.qkey, 'the Q_Key');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
  {
    name: 'the record of a membership is kept for its client',
    except: { rdmacm: 'the connection manager tells a record once, with joined' },
    async run(at) {
      const { provider, device, port } = at;
      const client = registerSaClient({ provider, device, port });
      const { group, record } = at.request(1);
      const seen = await joined({ client, group, record });
      const { mgid, mlid } = seen.events[0].record;
      equal(client.mcMemberRecord(mgid).mlid, mlid, 'the MLID');
      seen.subscription.unsubscribe();
      await client.unregister();
    },
  },
  {
    name: 'queries are answered',
    except: { rdmacm: NO_QUERIES },
    async run(at) {
      const { provider, device, port } = at;
      const seen = await joined(at.request(1));
      const groups = [];
      await queryGroups$({ provider, device, port }).forEach(({ mgid }) => groups.push(mgid));
      truth(groups.includes(seen.events[0].record.mgid), 'the group is among those listed');
      seen.subscription.unsubscribe();
      await at.settled();
    },
  },
];
