import { catchError, EMPTY, map, take } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, it } from 'vitest';
import type {
  GroupEvent,
  GroupNewsCallback,
  GroupNewsCompletion,
} from '../../src/contract/query.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import { groupEvents$ } from '../../src/observable/group-events.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { registerSaClient } from '../../src/observable/sa-client.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import type { EmbeddedFabric, EmbeddedFabricOptions } from '../../src/providers/embedded-fabric.js';
import { manualProvider } from './manual-provider.js';

const created = { type: 'created', mgid: 'ff12:cafe::1' } as const;
const deleted = { type: 'deleted', mgid: 'ff12:cafe::1' } as const;

/** What a provider says, by letter. */
const COMPLETIONS: Readonly<Record<string, GroupNewsCompletion>> = {
  s: { status: 0 },
  c: { status: 0, news: created },
  d: { status: 0, news: deleted },
  l: { status: 102, reason: 'sm-change' },
  L: { status: -102 },
  r: { status: -102, reason: 'device-removed' },
  b: { status: -16 },
  x: { status: -22, saStatus: 0x0700 },
  n: { status: NaN },
};

/** What the stream says to that, by the same letter. */
const EVENTS: Readonly<Record<string, GroupEvent>> = {
  s: { type: 'subscribed' },
  c: created,
  d: deleted,
  l: { type: 'lost', reason: 'sm-change' },
  L: { type: 'lost', reason: 'group-error' },
};

/** A provider that says what the diagram says, and notes from when to when it is listened to. */
function scripted(
  { cold }: { cold: (marbles: string) => ReturnType<TestScheduler['createColdObservable']> },
  marbles: string,
  early = '',
) {
  const letters$ = cold(marbles);
  let frees = 0;
  const provider = manualProvider(undefined, {
    watchGroups: (_place, callback: GroupNewsCallback) => {
      const say = (letter: string): void => {
        callback(COMPLETIONS[letter] ?? { status: 0 });
      };
      for (const letter of early) say(letter);
      return letters$.pipe(map(String)).subscribe(say);
    },
    freeMulticast: (handle) => {
      frees += 1;
      (handle as { unsubscribe(): void }).unsubscribe();
    },
  });
  return {
    letters$,
    client: registerSaClient({ provider, device: 'd', port: 1 }),
    get frees() {
      return frees;
    },
  };
}

function marbles(body: Parameters<TestScheduler['run']>[0]): void {
  new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected);
  }).run(body);
}

/** The stream with its failure noted, and its end in the place of that. */
function coded(source: Observable<GroupEvent>, seen: string[]): Observable<GroupEvent> {
  return source.pipe(
    catchError((error: unknown) => {
      seen.push((error as MulticastError).code);
      return EMPTY;
    }),
  );
}

describe('groupEvents$', () => {
  it('tells what is reported, and frees on unsubscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const script = scripted({ cold }, '--s--c-cd--c');
      const unsubscribed = '           ---------!  ';
      const expected = '               --s--c-cd-  ';
      expectObservable(groupEvents$(script.client), unsubscribed).toBe(expected, EVENTS);
      expectSubscriptions(script.letters$.subscriptions).toBe('^--------!');
    });
  });

  it('is cold: each subscription listens for itself', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const script = scripted({ cold }, 's-c');
      const events$ = groupEvents$(script.client);
      expectObservable(events$, '^---!').toBe('s-c', EVENTS);
      expectObservable(events$, '--^---!').toBe('--s-c', EVENTS);
      expectSubscriptions(script.letters$.subscriptions).toBe(['^---!', '--^---!']);
    });
  });

  it('goes on after a loss, whatever its sign and reason', () => {
    marbles(({ cold, expectObservable }) => {
      const script = scripted({ cold }, '-s-l--s-c-L-s');
      expectObservable(groupEvents$(script.client)).toBe('-s-l--s-c-L-s', EVENTS);
    });
  });

  it.each([
    ['b', 'EBUSY'],
    ['x', 'EINVAL'],
    ['r', 'ENETRESET'],
    ['n', 'EPROTO'],
  ])('ends with the failure that %s is: %s, freed before it is told', (letter, code) => {
    marbles(({ cold, expectObservable, expectSubscriptions, flush }) => {
      const script = scripted({ cold }, `-s-${letter}-c`);
      const seen: string[] = [];
      expectObservable(coded(groupEvents$(script.client), seen)).toBe('-s-|', EVENTS);
      expectSubscriptions(script.letters$.subscriptions).toBe('^--!');
      flush();
      expect(seen).toEqual([code]);
      expect(script.frees).toBe(1);
    });
  });

  it('takes what is said before there is a handle, and frees then', () => {
    marbles(({ cold, expectObservable, flush }) => {
      const script = scripted({ cold }, '-----c', 'sd');
      expectObservable(groupEvents$(script.client), '------!').toBe('(sd)-c', EVENTS);
      const failing = scripted({ cold }, '-c', 'sb');
      const seen: string[] = [];
      expectObservable(coded(groupEvents$(failing.client), seen)).toBe('(s|)', EVENTS);
      flush();
      expect([seen, failing.frees]).toEqual([['EBUSY'], 1]);
    });
  });

  it('ends at once when it is unsubscribed from inside its handler, during subscription too', () => {
    marbles(({ cold, expectObservable, flush }) => {
      const later = scripted({ cold }, '-s-c-d');
      expectObservable(groupEvents$(later.client).pipe(take(2))).toBe('-s-(c|)', EVENTS);
      const early = scripted({ cold }, '-d', 'sc');
      expectObservable(groupEvents$(early.client).pipe(take(1))).toBe('(s|)', EVENTS);
      flush();
      expect([later.frees, early.frees]).toEqual([1, 1]);
    });
  });

  it('wraps what a provider throws, and says who cannot tell', () => {
    const failures: unknown[] = [];
    const at = (provider: ReturnType<typeof manualProvider>): void => {
      groupEvents$(registerSaClient({ provider })).subscribe({
        error: (error: unknown) => failures.push(error),
      });
    };
    at(manualProvider());
    at(
      manualProvider(undefined, {
        watchGroups: () => {
          throw new MulticastError('no', { status: -19 });
        },
      }),
    );
    at(
      manualProvider(undefined, {
        watchGroups: () => {
          throw new Error('boom');
        },
      }),
    );
    expect(failures).toMatchObject([
      { code: 'EOPNOTSUPP', syscall: 'groupEvents' },
      { code: 'ENODEV' },
      { code: 'EIO', retryable: false },
    ]);
  });

  it('ends with a TypeError for what is no client', () => {
    for (const client of [undefined, null, 7, {}, { provider: manualProvider() }]) {
      let failure: unknown;
      groupEvents$(client as never).subscribe({ error: (error: unknown) => (failure = error) });
      expect(failure).toBeInstanceOf(TypeError);
    }
  });
});

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

const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

function join(fabric: EmbeddedFabric, mgid: string) {
  const at = { provider: fabric, device: 'embedded1', port: 1 };
  const member = joinMulticast$({ ...at, record: { mgid, ...creation } }).subscribe();
  fabric.tick();
  return member;
}

function watch(client: ReturnType<typeof registerSaClient>) {
  const words: string[] = [];
  const subscription = groupEvents$(client).subscribe({
    next: (event) => {
      const detail = 'mgid' in event ? event.mgid : 'reason' in event ? event.reason : '';
      words.push(`${event.type} ${detail}`.trim());
    },
    error: (error: unknown) => words.push((error as MulticastError).message),
  });
  return { words, subscription };
}

describe('groupEvents$ on a fabric', () => {
  it('is waited for by unregister(), and refused afterwards', () =>
    withFabric({}, async (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
      const { subscription } = watch(client);
      fabric.tick();
      await expect(client.unregister({ timeoutMs: 1 })).rejects.toThrow(
        /still waiting for group events/,
      );
      subscription.unsubscribe();
      fabric.tick();
      await client.unregister();
      expect(watch(client).words).toEqual([expect.stringMatching('was unregistered')]);
    }));

  it('is EBUSY while another client of the port has the reports, in words that help', () =>
    withFabric({}, (fabric) => {
      const place = { device: 'embedded0', port: 1 };
      const first = watch(registerSaClient({ provider: fabric, ...place }));
      const rival = fabric.client();
      const second = watch(registerSaClient({ provider: rival, ...place }));
      fabric.tick();
      expect(second.words).toHaveLength(1);
      expect(second.words[0]).toMatch(/^embedded0\/1: EBUSY: another program on this port has/);
      first.subscription.unsubscribe();
      fabric.tick();
      const third = watch(registerSaClient({ provider: rival, ...place }));
      fabric.tick();
      join(fabric, 'ff12:cafe::1').unsubscribe();
      fabric.tick();
      expect(third.words).toEqual(['subscribed', 'created ff12:cafe::1', 'deleted ff12:cafe::1']);
      third.subscription.unsubscribe();
      fabric.tick();
    }));

  it('says nothing to whoever unsubscribes in its handler, and all to the other watcher', () =>
    withFabric({}, (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
      const seen: string[] = [];
      const once = groupEvents$(client).subscribe((event) => {
        seen.push(event.type);
        if (event.type === 'created') once.unsubscribe();
      });
      const other = watch(client);
      fabric.tick();
      const members = [join(fabric, 'ff12:cafe::1'), join(fabric, 'ff12:cafe::2')];
      expect(seen).toEqual(['subscribed', 'created']);
      expect(other.words).toEqual(['subscribed', 'created ff12:cafe::1', 'created ff12:cafe::2']);
      other.subscription.unsubscribe();
      for (const member of members) member.unsubscribe();
      fabric.tick();
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('gives ETIMEDOUT where nobody answers the first time, EAGAIN on a port that is down', () =>
    withFabric({}, (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
      fabric.dropRequests(Infinity);
      const silent = watch(client);
      fabric.tick(3000);
      expect(silent.words).toEqual([expect.stringMatching('ETIMEDOUT')]);
      fabric.portDown('embedded0');
      const down = watch(client);
      fabric.tick();
      expect(down.words).toEqual([expect.stringMatching('EAGAIN')]);
    }));

  it('ends with the refusal of an administrator that will not have it anew', () =>
    withFabric({}, (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
      const { words } = watch(client);
      fabric.tick();
      fabric.answerWith(0x0300, Infinity, 'set');
      fabric.clientReregister('embedded0');
      fabric.tick(29_000);
      expect(words).toEqual(['subscribed', 'lost client-reregister']);
      fabric.tick(2_000);
      expect(words.slice(2)).toEqual([expect.stringMatching(/EINVAL: .*NO_RECORDS/)]);
      expect(fabric.stats?.()).toMatchObject({ handlesAlive: 0 });
    }));

  it('is lost for good with its device', () =>
    withFabric({}, (fabric) => {
      const client = registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
      const { words } = watch(client);
      fabric.tick();
      fabric.removeDevice('embedded0');
      fabric.tick();
      expect(words).toEqual([
        'subscribed',
        expect.stringMatching('ENETRESET: the device was removed'),
      ]);
    }));
});
