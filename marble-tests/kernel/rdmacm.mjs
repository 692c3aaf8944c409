// The rdmacm provider on a real kernel, in the guest of scripts/kernel. rxe0 and rxe1 are Soft-RoCE
// devices on the two ends of one link, with the addresses 10.77.0.1 and 10.77.0.2.

import { subscribe as listen, unsubscribe as unlisten } from 'node:diagnostics_channel';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { lastValueFrom } from 'rxjs';
import {
  capabilities,
  joinMulticast$,
  MulticastError,
  queryGroups$,
  rdmacm,
  rejoinOnReset,
} from 'rx-ib-multicast';
import { check, delay, equal, note, runChecks, truth, until } from './checks.mjs';
import {
  addBond,
  addDevice,
  commandLine,
  failOver,
  ip,
  member,
  rdma,
  receiver,
  removeDevice,
  sendToGroup,
} from './guest-commands.mjs';
import { kernelGroups } from './kernel-groups.mjs';

const provider = rdmacm();
const rxe0 = { provider, device: 'rxe0', port: 1 };

/** Subscribes and keeps what happens. */
function watch(request, operator = (source) => source) {
  const events = [];
  const seen = { events, error: undefined };
  seen.subscription = operator(joinMulticast$(request)).subscribe({
    next: (event) => events.push(event),
    error: (error) => {
      seen.error = error;
    },
  });
  seen.type = async (type) => {
    await until(
      () => seen.error !== undefined || events.some((event) => event.type === type),
      type,
    );
    if (!events.some((event) => event.type === type)) throw seen.error;
    return events.find((event) => event.type === type);
  };
  return seen;
}

/** The reasons of port events as they come, until `end()`. */
function portEvents() {
  const reasons = [];
  const keep = ({ reason = 'active' }) => reasons.push(reason);
  listen('rx-ib-multicast:port-event', keep);
  return { reasons, end: () => unlisten('rx-ib-multicast:port-event', keep) };
}

/** The failure of a join that cannot succeed. */
async function failure(request) {
  const seen = watch(request);
  await until(() => seen.error !== undefined, 'a failure');
  truth(seen.error instanceof MulticastError, `${seen.error} is a MulticastError`);
  note(`${seen.error.code}: ${seen.error.message}`);
  return seen.error;
}

async function settled(what = provider) {
  await what.idle();
  const { handlesAlive, groups, leavesFailed } = what.stats();
  equal([handlesAlive, groups, leavesFailed], [0, 0, 0], 'what is left here');
  equal(kernelGroups(), {}, 'what the kernel has joined');
}

const openFiles = () => readdirSync('/proc/self/fd').length;

check('capabilities tell the ports and their addresses', () => {
  const { usable, reason } = capabilities().rdmacm;
  note(reason);
  truth(usable, 'rdmacm is usable');
  const [first, second] = provider.ports();
  equal(
    [first.device, first.port, first.state, first.linkLayer],
    ['rxe0', 1, 'active', 'ethernet'],
    'the first port',
  );
  truth(first.addresses.includes('10.77.0.1'), 'rxe0 is reached through 10.77.0.1');
  truth(second.addresses.includes('10.77.0.2'), 'rxe1 is reached through 10.77.0.2');
});

check('joins an IPv4 group, and tells the record and the address handle', async () => {
  const seen = watch({ ...rxe0, group: '239.7.0.1', context: 'mine' });
  const event = await seen.type('joined');
  const { mgid, mlid, qkey, pkey, portGid, joinState } = event.record;
  equal(
    { mgid, mlid, qkey, pkey, portGid, joinState },
    {
      mgid: '::ffff:ef07:1',
      mlid: 0,
      qkey: 0x01234567,
      pkey: 0xffff,
      portGid: '::ffff:a4d:1',
      joinState: ['full-member'],
    },
    'the record',
  );
  const { grh, ...rest } = event.addressHandle;
  equal(
    rest,
    {
      type: 'roce',
      port: 1,
      dlid: 0,
      sl: 0,
      staticRate: rest.staticRate,
      dmac: '01:00:5e:07:00:01',
    },
    'the address handle',
  );
  equal(grh.dgid, '::ffff:ef07:1', 'its destination');
  truth(grh.hopLimit >= 0 && Number.isInteger(grh.sgidIndex), 'it has a route');
  note(`address handle ${JSON.stringify(event.addressHandle)}`);
  equal(event.context, 'mine', 'the context');
  seen.subscription.unsubscribe();
  seen.subscription.unsubscribe();
  await settled();
  equal(provider.stats().leavesSent, 1, 'leaves');
});

check('a port that goes down and comes up again is no reset, and data flows', async () => {
  const { reasons, end } = portEvents();
  const seen = watch({ ...rxe0, group: '239.7.0.2' });
  const { record } = await seen.type('joined');
  await ip('link', 'set', 'veth1', 'down');
  await until(() => reasons.includes('port-error'), 'the port error in diagnostics');
  await ip('link', 'set', 'veth1', 'up');
  await until(() => reasons.includes('active'), 'the port active in diagnostics');
  end();
  note(`port events: ${reasons.join(', ')}`);
  equal(seen.events.length, 1, 'events');
  truth(provider.stats().portEvents >= 2, 'port events are counted');

  // Beside it a group that nobody has joined: what a queue pair gets is due to the membership.
  const joined = receiver('rxe0', record.mgid, record.qkey);
  const other = receiver('rxe0', '::ffff:ef07:63', record.qkey, { limitMs: 8_000 });
  await Promise.all([joined.attached, other.attached]);
  await Promise.all([
    sendToGroup('239.7.0.2', '10.77.0.2'),
    sendToGroup('239.7.0.99', '10.77.0.2'),
  ]);
  const got = await joined.received;
  note(`the queue pair got ${got} of 1 datagrams it waited for`);
  truth(got >= 1, 'the queue pair of the group got data');
  equal(await other.received, 0, 'what the queue pair of the other group got');
  seen.subscription.unsubscribe();
  await settled();
});

check('left before the join event was read', async () => {
  const before = provider.stats();
  const all = Array.from({ length: 20 }, (_, i) => {
    const seen = watch({ ...rxe0, group: `239.7.1.${i}` });
    seen.subscription.unsubscribe();
    return seen;
  });
  await settled();
  await delay(100);
  equal(all.flatMap((seen) => seen.events).length, 0, 'events');
  equal(provider.stats().handlesFreed - before.handlesFreed, 20, 'handles freed');
});

check('unsubscribed inside the joined handler, 100 of 100', async () => {
  let inside = 0;
  await Promise.all(
    Array.from(
      { length: 100 },
      (_, i) =>
        new Promise((resolve, reject) => {
          const subscription = joinMulticast$({ ...rxe0, group: `239.7.2.${i}` }).subscribe({
            next: (event) => {
              if (event.type === 'joined') inside += 1;
              subscription.unsubscribe();
              resolve();
            },
            error: reject,
          });
        }),
    ),
  );
  equal(inside, 100, 'joined events');
  await settled();
});

check(
  'one group twice, and by another process: the kernel counts, also who is killed',
  async () => {
    const group = '239.7.0.3';
    const [one, two] = [watch({ ...rxe0, group }), watch({ ...rxe0, group })];
    await Promise.all([one.type('joined'), two.type('joined')]);
    const neighbour = member({ provider: 'rdmacm', device: 'rxe0', group, end: 'wait' });
    await neighbour.first('joined');
    equal(kernelGroups(), { [group]: 3 }, 'memberships');
    one.subscription.unsubscribe();
    await provider.idle();
    equal([kernelGroups(), provider.stats().groups], [{ [group]: 2 }, 1], 'without the first');
    neighbour.child.kill('SIGKILL');
    equal((await neighbour.ended).signal, 'SIGKILL', 'the end of the neighbour');
    equal(kernelGroups(), { [group]: 1 }, 'without the neighbour');
    two.subscription.unsubscribe();
    await settled();
  },
);

check('what the kernel or RoCE cannot do', async () => {
  const v6 = await failure({ ...rxe0, group: 'ff05::1' });
  equal([v6.code, v6.status], ['UNKNOWN', -524], 'an IPv6 group');
  const mgid = await failure({ ...rxe0, record: { mgid: 'ff12:401b:ffff::1' } });
  equal(mgid.code, 'EOPNOTSUPP', 'an MGID');
  const assigned = await failure({ ...rxe0, record: { mgid: '::' } });
  equal(assigned.code, 'EOPNOTSUPP', 'an MGID to be assigned');
  const qkey = await failure({ ...rxe0, group: '239.7.0.4', record: { qkey: 1 } });
  equal([qkey.code, qkey.fields], ['EOPNOTSUPP', ['qkey']], 'a Q_Key');
  const nonMember = await failure({
    ...rxe0,
    group: '239.7.0.4',
    record: { joinState: 'non-member' },
  });
  equal([nonMember.code, nonMember.fields], ['EOPNOTSUPP', ['joinState']], 'a non-member');
  const device = await failure({ provider, device: 'mlx5_9', group: '239.7.0.4' });
  equal(device.code, 'ENODEV', 'an unknown device');
  truth(device.message.includes('rxe0 port 1'), 'it names what exists');
  const elsewhere = await failure({
    provider: rdmacm({ sourceAddress: '192.0.2.9' }),
    group: '239.7.0.4',
  });
  equal(elsewhere.code, 'EADDRNOTAVAIL', 'a foreign source address');
  const query = await lastValueFrom(queryGroups$({ provider })).catch(({ code }) => code);
  equal(query, 'EOPNOTSUPP', 'a query');
  await settled();
});

check('a send-only full member', async () => {
  const seen = watch({
    ...rxe0,
    group: '239.7.0.5',
    record: { joinState: 'send-only-full-member' },
  });
  await until(() => seen.events.length > 0, 'an answer');
  const [event] = seen.events;
  note(`send-only: ${event.type} ${event.error?.code ?? ''}`);
  if (event.type === 'joined')
    equal(event.record.joinState, ['send-only-full-member'], 'the state');
  seen.subscription.unsubscribe();
  await settled();
});

check(
  'a source address chooses the device; the default provider of a group is rdmacm',
  async () => {
    const other = rdmacm({ sourceAddress: '10.77.0.2' });
    const second = watch({ provider: other, group: '239.7.0.6' });
    equal((await second.type('joined')).request.device, 'rxe1', 'the device');
    second.subscription.unsubscribe();
    await other.idle();
    const byDefault = watch({ group: '239.7.0.6' });
    const { request } = await byDefault.type('joined');
    equal([request.provider.name, request.device], ['rdmacm', 'rxe0'], 'the default');
    byDefault.subscription.unsubscribe();
    await request.provider.idle();
    // Its interface is known, in whatever way it is written; what RoCE says to IPv6 comes after that.
    const linkLocal = provider.ports()[0].addresses.find((address) => address.startsWith('fe80'));
    for (const sourceAddress of [linkLocal, linkLocal.toUpperCase(), `${linkLocal}%veth0`]) {
      const through = rdmacm({ sourceAddress });
      const { status } = await failure({ ...rxe0, provider: through, group: 'ff05::1' });
      equal(status, -524, `an IPv6 group through ${sourceAddress}`);
      await through.close();
    }
    const ipoib = await failure({ provider: rdmacm({ portSpace: 'ipoib' }), group: '239.7.0.6' });
    truth(ipoib.code !== 'UNKNOWN', 'the IPoIB port space is refused on RoCE with a reason');
    await settled();
  },
);

check('without an address, and with one again', async () => {
  await addDevice('rxe2', 'veth2');
  const at = { provider, device: 'rxe2', port: 1, group: '239.7.3.1' };
  const none = await failure(at);
  equal(none.code, 'EADDRNOTAVAIL', 'without an address');
  await ip('addr', 'add', '10.78.0.1/24', 'dev', 'veth2');
  const seen = watch(at);
  await seen.type('joined');
  const { reasons, end } = portEvents();
  await ip('addr', 'flush', 'dev', 'veth2');
  await until(() => reasons.includes('gid-change'), 'the change of the GID table in diagnostics');
  end();
  equal(seen.events.length, 1, 'events after the address went');
  const gone = await failure({ ...at, group: '239.7.3.2' });
  truth(['EADDRNOTAVAIL', 'EIO'].includes(gone.code), `${gone.code} is what a join gets`);
  seen.subscription.unsubscribe();
  await settled();
});

check('a bond that fails over: reset with address-change, and the rejoin holds', async () => {
  await addBond('rxe3', 'bond3', '10.79.0.1');
  const at = { provider, device: 'rxe3', port: 1, group: '239.7.8.1' };
  const seen = watch(at, rejoinOnReset({ initialDelayMs: 50 }));
  await seen.type('joined');
  const start = performance.now();
  await failOver('bond3');
  const { reason, error } = await seen.type('reset');
  note(`reset ${(performance.now() - start).toFixed(0)} ms after the fail-over: ${error.message}`);
  equal([reason, error.retryable], ['address-change', true], 'the reset');
  await until(() => seen.events.length >= 3 && seen.events.at(-1).type === 'joined', 'the rejoin');
  seen.subscription.unsubscribe();
  await settled();
});

check(
  'a link deleted under 100 memberships: reset within a second, unsubscribed inside, 100 of 100',
  async () => {
    await ip('addr', 'add', '10.78.0.1/24', 'dev', 'veth2');
    const files = openFiles();
    const at = { provider, device: 'rxe2', port: 1 };
    let first = 0;
    let latest = 0;
    const members = Array.from({ length: 100 }, (_, i) => {
      const seen = { events: [], error: undefined };
      seen.subscription = joinMulticast$({ ...at, group: `239.7.4.${i}` }).subscribe({
        next: (event) => {
          seen.events.push(event);
          if (event.type !== 'reset') return;
          latest = performance.now();
          first ||= latest;
          seen.subscription.unsubscribe();
        },
        error: () => undefined,
      });
      return seen;
    });
    await until(() => members.every((seen) => seen.events.length === 1), 'all joined');
    const start = performance.now();
    // Resolves when the kernel has let go of the device, which waits for all who have it open.
    let deleted;
    const deletion = removeDevice('rxe2').then(() => {
      deleted = performance.now();
    });
    await until(() => members.every((seen) => seen.events.length === 2), 'all reset');
    await deletion;
    const after = (time) => `${(time - start).toFixed(0)} ms`;
    note(
      `first reset after ${after(first)}, the 100th after ${after(latest)}, deleted after ${after(deleted)}`,
    );
    truth(first - start < 1_000, 'a reset comes within a second');
    for (const { events } of members) {
      const [, { type, status, reason, error }] = events;
      equal(
        [type, status, reason, error.code, error.retryable],
        ['reset', -102, 'device-removed', 'ENETRESET', false],
        'the event',
      );
    }
    await settled();
    const later = await failure({ ...at, group: '239.7.4.1' });
    equal([later.code, later.retryable], ['ENODEV', false], 'a later join');
    note(`files open: ${files} before, ${openFiles()} after`);

    await rdma('link', 'add', 'rxe2', 'type', 'rxe', 'netdev', 'veth2');
    const again = watch({ ...at, group: '239.7.4.1' });
    await again.type('joined');
    again.subscription.unsubscribe();
    await settled();
    // With nobody a member: the open channel must not keep the device either.
    await removeDevice('rxe2');
    const unnoticed = await failure({ ...at, group: '239.7.4.1' });
    equal(unnoticed.code, 'ENODEV', 'a join after a removal that nobody was told of');
  },
);

check('a device that goes and comes back is joined again, whoever noticed', async () => {
  const back = () => rdma('link', 'add', 'rxe2', 'type', 'rxe', 'netdev', 'veth2');
  const at = { provider, device: 'rxe2', port: 1 };
  await back();

  // Without JavaScript: the native thread alone lets go of the device.
  const blocked = watch({ ...at, group: '239.7.9.1' });
  await blocked.type('joined');
  const deletion = removeDevice('rxe2');
  const start = performance.now();
  while (existsSync('/sys/class/infiniband/rxe2')) {
    truth(performance.now() - start < 30_000, 'the device goes while JavaScript is blocked');
  }
  await deletion;
  equal((await blocked.type('reset')).reason, 'device-removed', 'the reset');

  await back();
  const again = watch({ ...at, group: '239.7.9.1' });
  await again.type('joined');
  again.subscription.unsubscribe();
  await settled();

  const { reasons, end } = portEvents();
  await removeDevice('rxe2');
  await back();
  await until(() => reasons.includes('device-removed'), 'the removal in diagnostics');
  end();
  const unnoticed = watch({ ...at, group: '239.7.9.2' });
  await unnoticed.type('joined');
  unnoticed.subscription.unsubscribe();
  await settled();
});

check('a device that was never reached goes, comes back, and is joined', async () => {
  await addDevice('rxe4', 'veth4');
  const at = { provider, device: 'rxe4', port: 1, group: '239.7.12.1' };
  equal((await failure(at)).code, 'EADDRNOTAVAIL', 'without an address');
  const { reasons, end } = portEvents();
  await removeDevice('rxe4');
  await until(() => reasons.includes('device-removed'), 'the removal in diagnostics');
  end();
  equal((await failure(at)).code, 'ENODEV', 'without the device');
  await rdma('link', 'add', 'rxe4', 'type', 'rxe', 'netdev', 'veth4');
  await ip('addr', 'add', '10.80.0.1/24', 'dev', 'veth4');
  const seen = watch(at);
  await seen.type('joined');
  seen.subscription.unsubscribe();
  await settled();
  await removeDevice('rxe4');
});

check('a device that goes while joins and leaves go on', async () => {
  const ends = {};
  let going = true;
  let gone = false;
  const one = async (n) => {
    for (let round = 0; going; round += 1) {
      const group = `239.7.10.${n * 10 + (round % 10)}`;
      const seen = watch({ provider, device: 'rxe2', port: 1, group });
      await delay((n * 21 + round * 9) % 100);
      seen.subscription.unsubscribe();
      const told = seen.events.map(({ type }) => type).join(' and ') || 'nothing';
      ends[told] = (ends[told] ?? 0) + 1;
      if (seen.error === undefined) continue;
      gone = true;
      const { code, reason } = seen.error;
      truth(code === 'ENODEV' || reason === 'device-removed', `${seen.error.message} is why`);
    }
  };
  const loops = Array.from({ length: 20 }, (_, n) => one(n));
  await until(() => ends.joined > 10, 'joins');
  await removeDevice('rxe2');
  await until(() => gone, 'a failure');
  going = false;
  await Promise.all(loops);
  note(`told: ${JSON.stringify(ends)}`);
  await settled();
});

check('a process whose device has gone ends by itself', async () => {
  await rdma('link', 'add', 'rxe2', 'type', 'rxe', 'netdev', 'veth2');
  const job = { provider: 'rdmacm', device: 'rxe2', group: '239.7.11.1', end: 'wait' };
  const process = member(job);
  await process.first('joined');
  await removeDevice('rxe2');
  const { code, lines } = await process.ended;
  equal([code, lines.map(({ type }) => type)], [0, ['joined', 'reset', 'failed']], 'its end');
});

check('ways to end: process.exit, an uncaught exception, a worker', async () => {
  const ends = await Promise.all([
    member({ provider: 'rdmacm', group: '239.7.5.2', end: 'exit' }).ended,
    member({ provider: 'rdmacm', group: '239.7.5.3', end: 'worker' }).ended,
    member({ provider: 'rdmacm', group: '239.7.5.5', end: 'throw' }).ended,
  ]);
  equal(
    ends.map(({ code }) => code),
    [7, 0, 1],
    'exit codes',
  );
  for (const { lines } of ends)
    truth(
      lines.some(({ type }) => type === 'joined'),
      'it joined',
    );
  equal(kernelGroups(), {}, 'what the kernel has joined');
});

check('an unprivileged user; a process that unsubscribes ends by itself', async () => {
  const { code, lines } = await member({ group: '239.7.6.1', end: 'unsubscribe' }, { uid: 65534 })
    .ended;
  equal([code, lines[0]?.type, lines[0]?.provider], [0, 'joined', 'rdmacm'], 'what nobody gets');
});

check('the command line joins through the kernel, and leaves at a signal', async () => {
  const group = '239.7.6.3';
  const cli = commandLine('join', group, '--json');
  const event = JSON.parse(await cli.line);
  equal(
    [event.type, event.mgid, kernelGroups()],
    ['joined', '::ffff:ef07:603', { [group]: 1 }],
    'it',
  );
  cli.child.kill('SIGTERM');
  equal([await cli.ended, kernelGroups()], [143, {}], 'its end');
});

check('without /dev/infiniband/rdma_cm: ENODEV that says which module to load', async () => {
  const node = '/dev/infiniband/rdma_cm';
  renameSync(node, `${node}.away`);
  try {
    const { lines } = await member({
      provider: 'rdmacm',
      device: 'rxe0',
      group: '239.7.6.2',
      alsoByDefault: true,
      end: 'wait',
    }).ended;
    const [event, other] = lines.filter(({ type }) => type === 'error');
    note(event.message);
    equal([event.type, event.code], ['error', 'ENODEV'], 'the event');
    truth(event.message.includes('modprobe rdma_ucm'), 'it says which module to load');
    note(other.message);
    equal(
      [other.type, other.code, other.provider],
      ['error', 'ENODEV', 'none'],
      'without a provider',
    );
    truth(/rdmacm: .*rdma_ucm.*umad: /.test(other.message), 'it lists what was tried');
  } finally {
    renameSync(`${node}.away`, node);
  }
});

check('rejoinOnReset does not rejoin at a device that is gone', async () => {
  await rdma('link', 'add', 'rxe2', 'type', 'rxe', 'netdev', 'veth2');
  const seen = watch({ provider, device: 'rxe2', port: 1, group: '239.7.7.1' }, rejoinOnReset());
  await seen.type('joined');
  await removeDevice('rxe2');
  await until(() => seen.error !== undefined, 'the end');
  equal([seen.error.code, seen.error.reason], ['ENETRESET', 'device-removed'], 'the error');
});

check('closing gives everything back', async () => {
  await provider.close();
  truth(existsSync('/sys/class/infiniband/rxe0'), 'the devices are still there');
});

await runChecks();
