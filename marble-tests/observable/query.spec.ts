import { firstValueFrom, take, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import {
  queryGroups$,
  queryMembers$,
  queryPath$,
  queryServices$,
} from '../../src/observable/query.js';
import { registerSaClient } from '../../src/observable/sa-client.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric, EmbeddedFabricOptions } from '../../src/providers/embedded-fabric.js';
import { rdmacm } from '../../src/providers/rdmacm.js';
import { manualProvider } from './manual-provider.js';

const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

async function withFabric(
  options: EmbeddedFabricOptions,
  body: (fabric: EmbeddedFabric) => void | Promise<void>,
): Promise<void> {
  const fabric = embeddedFabric({ clock: 'manual', auditIntervalMs: 0, ...options });
  try {
    await body(fabric);
  } finally {
    await fabric.close();
  }
}

/** What a query says, in order. */
function watch<T>(source: Observable<T>) {
  const records: T[] = [];
  const ends: (string | Error)[] = [];
  const subscription = source.subscribe({
    next: (record) => records.push(record),
    error: (error: unknown) => ends.push(error as Error),
    complete: () => ends.push('complete'),
  });
  return { records, ends, subscription };
}

describe('queryPath$', () => {
  it('is cold, asks once per subscription, and streams records, then completes', () =>
    withFabric({ ports: 5 }, (fabric) => {
      const [own] = fabric.ports();
      const path$ = queryPath$({ provider: fabric, sgid: own?.gid ?? '' });
      expect(fabric.counters().getTables).toBe(0);
      const { records, ends } = watch(path$);
      fabric.tick();
      expect(records.map((record) => record.dlid).sort()).toEqual([2, 3, 4, 5, 6]);
      expect(records[1]).toMatchObject({
        type: 'infiniband',
        sgid: own?.gid,
        slid: 2,
        pkey: 0xffff,
        mtu: 2048,
        rate: 10,
        packetLifeTime: 18,
        reversible: true,
      });
      expect(ends).toEqual(['complete']);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
      watch(path$);
      fabric.tick();
      expect(fabric.counters().getTables).toBe(2);
    }));

  it('completes without a record when there is none, and fails with the status of a refusal', () =>
    withFabric({}, (fabric) => {
      const nothing = watch(queryPath$({ provider: fabric, dgid: 'fe80::dead' }));
      const [own] = fabric.ports();
      const refused = watch(
        queryPath$({ provider: fabric, sgid: own?.gid ?? '', slid: 3, dgid: own?.gid ?? '' }),
      );
      fabric.tick();
      expect([nothing.records, nothing.ends]).toEqual([[], ['complete']]);
      expect(refused.ends[0]).toMatchObject({
        code: 'EINVAL',
        saStatusName: 'REQ_INVALID',
        syscall: 'querySubnetAdministrator',
        device: 'embedded0',
      });
    }));

  it('frees its handle on unsubscription, and take(1) decodes no more', () =>
    withFabric({ ports: 100, delayMs: 5 }, async (fabric) => {
      const { records, ends, subscription } = watch(queryPath$({ provider: fabric }));
      subscription.unsubscribe();
      const first = firstValueFrom(queryPath$({ provider: fabric }).pipe(take(1), toArray()));
      fabric.tick(20);
      expect([records, ends]).toEqual([[], []]);
      expect(await first).toHaveLength(1);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('gives ETIMEDOUT after the attempts of the port, EAGAIN while it is down', () =>
    withFabric({}, (fabric) => {
      fabric.dropRequests(Infinity);
      const silent = watch(queryPath$({ provider: fabric }));
      fabric.tick(3000);
      expect(silent.ends[0]).toMatchObject({ code: 'ETIMEDOUT', retryable: true });
      fabric.portDown('embedded0');
      const down = watch(queryPath$({ provider: fabric, device: 'embedded0', port: 1 }));
      fabric.tick();
      expect(down.ends[0]).toMatchObject({ code: 'EAGAIN' });
    }));

  it('streams 10,000 records of one answer', () =>
    withFabric({ ports: 100 }, (fabric) => {
      const { records, ends } = watch(queryPath$({ provider: fabric }));
      fabric.tick();
      expect(records).toHaveLength(10_000);
      expect(ends).toEqual(['complete']);
    }));

  it('keeps 1,000 queries within the window', () =>
    withFabric({ delayMs: 1 }, (fabric) => {
      const all = Array.from({ length: 1000 }, () => watch(queryPath$({ provider: fabric })));
      fabric.tick(1000);
      expect(all.every(({ ends }) => ends[0] === 'complete')).toBe(true);
      expect(fabric.stats?.()).toMatchObject({ outstandingPeak: 64, handlesAlive: 0 });
    }));

  it('gives each of many queries that are answered together its own records', () =>
    withFabric({ ports: 5 }, (fabric) => {
      const provider = fabric;
      const gids = fabric.ports().map((info) => info.gid);
      const [sgid = ''] = gids;
      const asked = Array.from({ length: 40 }, (_, i) => gids[i % 7]);
      const all = asked.map((dgid) =>
        watch(queryPath$(dgid === undefined ? { provider, sgid } : { provider, sgid, dgid })),
      );
      const groups = watch(queryGroups$({ provider }));
      fabric.tick();
      expect(groups.records.map((record) => record.mgid)).toEqual(['ff12:401b:ffff::ffff:ffff']);
      all.forEach(({ records, ends }, i) => {
        const dgid = asked[i];
        const expected = dgid === undefined ? gids : [dgid];
        expect(records.map((record) => record.dgid).sort()).toEqual([...expected].sort());
        expect(records.every((record) => record.sgid === sgid)).toBe(true);
        expect(ends).toEqual(['complete']);
      });
    }));

  it('ends a wrong query with a TypeError or RangeError, and asks nothing', () =>
    withFabric({}, (fabric) => {
      const end = (query: object): unknown =>
        watch(queryPath$({ provider: fabric, ...query })).ends[0];
      expect(end({ sgid: 'nonsense' })).toBeInstanceOf(TypeError);
      expect(end({ mtu: 1500 })).toBeInstanceOf(RangeError);
      expect(end({ port: 0 })).toBeInstanceOf(RangeError);
      expect(end({ mgid: 'ff12::1' })).toMatchObject({
        message: expect.stringMatching(/^mgid is/) as string,
      });
      expect(end({ smKey: 1 })).toBeInstanceOf(TypeError);
      expect(end({ client: registerSaClient({ provider: fabric }) })).toMatchObject({
        message: 'provider is given beside client; a client has its own provider, device and port',
      });
      expect(end({ truncated: 'maybe' })).toBeInstanceOf(RangeError);
      expect(fabric.counters().getTables).toBe(0);
    }));

  it('names what a machine lacks: unknown devices, providers that cannot ask', () =>
    withFabric({}, (fabric) => {
      expect(watch(queryPath$({ provider: fabric, device: 'mlx5_0' })).ends[0]).toMatchObject({
        code: 'ENODEV',
      });
      expect(watch(queryPath$({ provider: manualProvider() })).ends[0]).toMatchObject({
        code: 'EOPNOTSUPP',
      });
      // Whatever devices there are, and without looking for any.
      expect(watch(queryGroups$({ provider: rdmacm() })).ends[0]).toMatchObject({
        code: 'EOPNOTSUPP',
        message:
          "the provider 'rdmacm' cannot ask a subnet administrator; use umad() or embeddedFabric()",
      });
    }));
});

describe('truncation', () => {
  it('follows the records as EMSGSIZE, or is accepted', () =>
    withFabric({ ports: 5, rmpp: false }, (fabric) => {
      const told = watch(queryPath$({ provider: fabric }));
      const accepted = watch(queryPath$({ provider: fabric, truncated: 'complete' }));
      fabric.tick();
      expect(told.records).toHaveLength(3);
      expect(told.ends[0]).toMatchObject({ code: 'EMSGSIZE', retryable: false });
      expect(accepted.records).toHaveLength(3);
      expect(accepted.ends).toEqual(['complete']);
    }));
});

describe('queryGroups$ and queryMembers$', () => {
  it('list groups, and with the key their members', () =>
    withFabric({ ports: 3 }, (fabric) => {
      const joins = ['embedded0', 'embedded1'].map((device) =>
        joinMulticast$({
          provider: fabric,
          device,
          port: 1,
          record: { mgid: 'ff12:cafe::1', ...creation },
        }).subscribe(),
      );
      fabric.tick();
      const groups = watch(queryGroups$({ provider: fabric }));
      const known = watch(queryMembers$('FF12:cafe::1', { provider: fabric }));
      const members = watch(queryMembers$('ff12:cafe::1', { provider: fabric, smKey: 1n }));
      fabric.tick();
      expect(groups.records.map((record) => record.mgid)).toEqual([
        'ff12:401b:ffff::ffff:ffff',
        'ff12:cafe::1',
      ]);
      expect(known.records).toMatchObject([{ portGid: '::', joinState: [] }]);
      const gids = fabric.ports().map((info) => info.gid);
      expect(members.records).toMatchObject([
        { portGid: gids[0], joinState: ['full-member'] },
        { portGid: gids[1], joinState: ['full-member'] },
      ]);
      for (const join of joins) join.unsubscribe();
      expect(watch(queryMembers$('fe80::1', { provider: fabric })).ends[0]).toBeInstanceOf(
        RangeError,
      );
    }));
});

describe('queryServices$', () => {
  it('finds nothing where nothing is', () =>
    withFabric({}, (fabric) => {
      const { records, ends } = watch(queryServices$({ provider: fabric, name: 'nobody' }));
      fabric.tick();
      expect([records, ends]).toEqual([[], ['complete']]);
    }));
});

describe('a query of a client', () => {
  it('is waited for by unregister(), and refused afterwards', () =>
    withFabric({ delayMs: 5 }, async (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded1', port: 1 });
      const { ends } = watch(queryGroups$({ client }));
      let done = false;
      const unregistered = client.unregister().then(() => {
        done = true;
      });
      await expect(client.unregister({ timeoutMs: 1 })).rejects.toThrow(
        /still waiting for multicast query/,
      );
      expect(done).toBe(false);
      fabric.tick(10);
      expect(ends).toEqual(['complete']);
      await unregistered;
      expect(watch(queryGroups$({ client })).ends[0]).toMatchObject({ code: 'ESHUTDOWN' });
    }));
});

describe('a provider of somebody else', () => {
  it('may answer within the call, throw, or answer without records', () => {
    let frees = 0;
    const at = (query: NonNullable<ReturnType<typeof manualProvider>['query']>) =>
      watch(
        queryGroups$({
          provider: {
            ...manualProvider(),
            query,
            freeMulticast: () => {
              frees += 1;
            },
          },
        }),
      );
    expect(
      at((_request, callback) => {
        callback({ status: 0, records: [] });
        return {};
      }).ends,
    ).toEqual(['complete']);
    expect(frees).toBe(1);
    expect(
      at((_request, callback) => {
        callback({ status: 0 });
        return {};
      }).ends[0],
    ).toMatchObject({ code: 'EPROTO' });
    expect(
      at(() => {
        throw new MulticastError('no', { status: -16 });
      }).ends[0],
    ).toMatchObject({ code: 'EBUSY' });
    expect(frees).toBe(2);
  });
});
