import {
  concat,
  connect,
  EMPTY,
  ignoreElements,
  map,
  merge,
  NEVER,
  of,
  queueScheduler,
  Subject,
  take,
  tap,
  throwError,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinRequest } from '../../src/contract/request.js';
import { joinMulticastAll$ } from '../../src/operators/join-multicast-all.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { trackMembership } from '../../src/operators/track-membership.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import type { MarbleProvider } from '../../src/testing/marble-provider.js';
import { manualProvider } from '../observable/manual-provider.js';

describe('joinMulticastAll$', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  /** Requests for ff12::a, ff12::b and so on, named by that letter on their events. */
  const groups = (
    provider: MarbleProvider,
    names: string,
    qkey = 1,
  ): (JoinRequest<string> & { context: string })[] =>
    Array.from(names).map((name) => ({
      provider,
      record: { mgid: `ff12::${name}`, qkey },
      context: name,
    }));

  /** Events in one word: the group and the code. */
  const words = (source$: Observable<MulticastEvent<string>>): Observable<string> =>
    source$.pipe(
      map((event) => `${event.context} ${event.type === 'joined' ? 'joined' : event.error.code}`),
    );

  it('joins all, survives the failure of one, and completes when all have ended', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        'ff12::a': ['--j----r'],
        'ff12::b': ['---t'],
        'ff12::c': ['-j--------e'],
      });
      const result = '       -xyz---r--(e|)';
      helpers.expectObservable(words(joinMulticastAll$(groups(provider, 'abc')))).toBe(result, {
        x: 'c joined',
        y: 'a joined',
        z: 'b ETIMEDOUT',
        r: 'a ENETRESET',
        e: 'c EIO',
      });
    });
  });

  it('takes any iterable, and completes with none', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-j'] });
      const set = new Set(groups(provider, 'a'));
      helpers.expectObservable(words(joinMulticastAll$(set)), '^--!').toBe('-x', { x: 'a joined' });
      helpers.expectObservable(joinMulticastAll$([])).toBe('|');
    });
  });

  it('limits the joining phase', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        'ff12::a': ['---j'],
        'ff12::b': [' -t'],
        'ff12::c': [' ---j'],
        'ff12::d': [' --j'],
      });
      const a = '      ^-----------!';
      const b = '      ^!           ';
      const c = '      -^----------!';
      const d = '      ---^--------!';
      const result = ' -b-acd-------';
      const until = '  ^-----------!';
      const source$ = joinMulticastAll$(groups(provider, 'abcd'), { concurrency: 2 });
      helpers.expectObservable(words(source$), until).toBe(result, {
        a: 'a joined',
        b: 'b ETIMEDOUT',
        c: 'c joined',
        d: 'd joined',
      });
      for (const [name, span] of Object.entries({ a, b, c, d })) {
        helpers.expectSubscriptions(provider.spans(`ff12::${name}`, 0)).toBe(span);
      }
    });
  });

  it('starts no join that waits when it is unsubscribed', () => {
    scheduler.run((helpers) => {
      // The script has no attempt for the others, and would say so.
      const provider = marbleProvider(helpers, { 'ff12::a': ['-----j'] });
      const source$ = joinMulticastAll$(groups(provider, 'abc'), { concurrency: 1 });
      helpers.expectObservable(words(source$), '^--!').toBe('----');
      helpers.expectSubscriptions(provider.spans('ff12::a', 0)).toBe('^--!');
    });
  });

  it('starts no join that waits and is dropped with the one that made it wait', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-----j'], 'ff12::d': ['-j'] });
      const sets$ = helpers.hot<JoinRequest<string>[]>('x--y', {
        x: groups(provider, 'abcd'),
        y: groups(provider, 'd'),
      });
      const until = '  ^-----!';
      const result = ' ----d--';
      const spanA = '  ^--!';
      const spanD = '  ---^--!';
      const source$ = joinMulticastAll$(sets$, { concurrency: 1 });
      helpers
        .expectObservable(words(source$ as Observable<MulticastEvent<string>>), until)
        .toBe(result, { d: 'd joined' });
      helpers.expectSubscriptions(provider.spans('ff12::a', 0)).toBe(spanA);
      helpers.expectSubscriptions(provider.spans('ff12::d', 0)).toBe(spanD);
    });
  });

  it('replaces sets: leaves what is gone, joins what is new, keeps what stays', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        'ff12::a': ['-j'],
        'ff12::b': ['-j', '-j'],
        'ff12::c': ['-j'],
      });
      const sets$ = helpers.hot<JoinRequest<string>[]>('x---y---z---|', {
        x: groups(provider, 'ab'),
        y: groups(provider, 'bc'),
        z: groups(provider, 'b', 2),
      });
      const spanA = '                                   ^---!';
      const spanB1 = '                                  ^-------!';
      const spanC = '                                   ----^---!';
      const spanB2 = '                                  --------^-------!';
      const until = '                                   ^---------------!';
      const source$ = joinMulticastAll$(sets$) as Observable<MulticastEvent<string>>;
      helpers.expectObservable(words(source$), until).toBe('-(ab)c---b', {
        a: 'a joined',
        b: 'b joined',
        c: 'c joined',
      });
      helpers.expectSubscriptions(provider.spans('ff12::a', 0)).toBe(spanA);
      helpers.expectSubscriptions(provider.spans('ff12::b', 0)).toBe(spanB1);
      helpers.expectSubscriptions(provider.spans('ff12::c', 0)).toBe(spanC);
      helpers.expectSubscriptions(provider.spans('ff12::b', 1)).toBe(spanB2);
    });
  });

  it('joins a group that has ended again only after a set without it', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-t', '-j'] });
      const sets$ = helpers.hot<JoinRequest<string>[]>('x--x--n--x', {
        x: groups(provider, 'a'),
        n: [],
      });
      const source$ = joinMulticastAll$(sets$) as Observable<MulticastEvent<string>>;
      helpers.expectObservable(words(source$), '^------------!').toBe('-t--------j', {
        t: 'a ETIMEDOUT',
        j: 'a joined',
      });
    });
  });

  it('completes when the sets have and all groups have ended', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-----t'] });
      const sets$ = concat(of(groups(provider, 'a')), EMPTY);
      helpers
        .expectObservable(words(joinMulticastAll$(sets$)))
        .toBe('-----(t|)', { t: 'a ETIMEDOUT' });
    });
  });

  it('applies an operator to each group', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-j-r', '-j'], 'ff12::b': ['--j'] });
      const source$ = joinMulticastAll$(groups(provider, 'ab'), {
        each: rejoinOnReset({ initialDelayMs: 2, jitter: 0 }),
      });
      helpers.expectObservable(words(source$), '^--------!').toBe('-abr--a', {
        a: 'a joined',
        b: 'b joined',
        r: 'a ENETRESET',
      });
    });
  });

  it('tells the operator of which group it is, also where a factory made the request', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-j-----'], 'ff12::b': ['--j----'] });
      const [a, b] = groups(provider, 'ab');
      const told: (string | undefined)[] = [];
      const all$ = joinMulticastAll$([a, () => b] as JoinRequest<string>[], {
        each: (group$, { context }) => {
          told.push(context);
          return group$.pipe(take(1));
        },
      });
      helpers.expectObservable(all$.pipe(map(({ type }) => type))).toBe('-j(j|)', { j: 'joined' });
      helpers.flush();
      expect(told).toEqual(['a', 'b']);
    });
  });

  it('shows the state of each group, giving up included, to an operator that looks on', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        'ff12::a': ['-j--r', '-t'],
        'ff12::b': ['--j----'],
      });
      const states: string[] = [];
      const all$ = joinMulticastAll$(groups(provider, 'ab'), {
        each: (group$, { context }) =>
          group$.pipe(
            rejoinOnReset({ initialDelayMs: 2, maxOutageMs: 4, jitter: 0 }),
            connect((events$) =>
              merge(
                events$.pipe(
                  trackMembership(),
                  tap(({ state, attempts }) =>
                    states.push(`${context} ${state} ${String(attempts)}`),
                  ),
                  ignoreElements(),
                ),
                events$,
              ),
            ),
          ),
      });
      helpers.expectObservable(words(all$), '^---------!').toBe('-xy-r--t', {
        x: 'a joined',
        y: 'b joined',
        r: 'a ENETRESET',
        t: 'a ETIMEDOUT',
      });
      helpers.flush();
      expect(states).toEqual([
        ...['a joining 0', 'b joining 0', 'a member 0', 'b member 0'],
        ...['a outage 0', 'a outage 1', 'a failed 1'],
      ]);
    });
  });

  it('says which request of a list is wrong', () => {
    const requests = [
      { record: { mgid: 'ff12::1' } },
      { record: { mgid: 'ff12::2', mtuu: 2048 } },
    ] as JoinRequest[];
    const errors: unknown[] = [];
    joinMulticastAll$(requests).subscribe({ error: (error: unknown) => errors.push(error) });
    joinMulticastAll$([{ ...requests[0], port: 0 }]).subscribe({
      error: (error: unknown) => errors.push(error),
    });
    joinMulticastAll$([() => Promise.resolve()] as never).subscribe({
      error: (error: unknown) => errors.push(error),
    });
    expect(errors.map(String)).toEqual([
      expect.stringMatching(/^TypeError: requests\[1\]: record\.mtuu is no field/),
      expect.stringMatching(/^RangeError: requests\[0\]: port is 0/),
      expect.stringMatching(/^TypeError: requests\[0\]: the request is a Promise/),
    ]);
  });

  it('takes the first request of a key', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-j'], 'ff12::b': ['-j'] });
      const twice = [...groups(provider, 'a', 1), ...groups(provider, 'a', 2)];
      helpers
        .expectObservable(words(joinMulticastAll$(twice)), '^--!')
        .toBe('-a', { a: 'a joined' });
      const oneKey = joinMulticastAll$(groups(provider, 'ba'), { key: () => 'same' });
      helpers.expectObservable(words(oneKey), '^--!').toBe('-b', { b: 'b joined' });
    });
  });

  it('tells spellings of one MGID to be the same, and ports and providers apart', () => {
    const provider = manualProvider();
    const other = manualProvider();
    const subscription = joinMulticastAll$([
      { provider, record: { mgid: 'ff12::1' } },
      { provider, record: { mgid: 'FF12:0::1' } },
      { provider, port: 2, record: { mgid: 'ff12::1' } },
      { provider, device: 'd', record: { mgid: 'ff12::1' } },
      { provider: other, record: { mgid: 'ff12::1' } },
      { provider, group: 'ff12::1' },
    ]).subscribe();
    expect(provider.joins).toHaveLength(4);
    expect(other.joins).toHaveLength(1);
    subscription.unsubscribe();
    expect(provider.alive() + other.alive()).toBe(0);
  });

  it('ends with misuse, before anything is joined', () => {
    const provider = manualProvider();
    const errors: unknown[] = [];
    joinMulticastAll$([{ provider, record: { mgid: 'ff12::1' } }, { provider }]).subscribe({
      error: (error: unknown) => errors.push(error),
    });
    expect(errors).toMatchObject([{ name: 'TypeError' }]);
    expect(provider.joins).toHaveLength(0);
  });

  it('ends with other errors: of the sets, of the operator, of a factory', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::a': ['-j', '-j'] });
      const sets$ = concat(of(groups(provider, 'a')), helpers.cold<never>('---#', {}, 'sets'));
      helpers
        .expectObservable(words(joinMulticastAll$(sets$)))
        .toBe('-a-#', { a: 'a joined' }, 'sets');
      const failing$ = joinMulticastAll$(groups(provider, 'a'), {
        each: () => throwError(() => new Error('each')),
      });
      helpers.expectObservable(failing$).toBe('#', undefined, 'each');
      const factory = (): JoinRequest => {
        throw new Error('factory');
      };
      helpers.expectObservable(joinMulticastAll$([factory])).toBe('#', undefined, 'factory');
      helpers.expectObservable(joinMulticastAll$(NEVER)).toBe('-');
      helpers
        .expectObservable(words(joinMulticastAll$(groups(provider, 'a'))).pipe(take(1)))
        .toBe('-(a|)', { a: 'a joined' });
    });
  });

  it('applies sets one after the other, also those that a handler provokes', () => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    const request = (n: number): JoinRequest => ({
      provider,
      record: { mgid: `ff12::${String(n)}` },
    });
    const sets$ = new Subject<JoinRequest[]>();
    const seen: (string | undefined)[] = [];
    const subscription = joinMulticastAll$(sets$).subscribe((event) => {
      const { mgid } = event.request.record;
      seen.push(mgid);
      if (mgid === 'ff12::1') sets$.next([request(3)]);
    });
    sets$.next([request(1), request(2)]);
    expect(seen).toEqual(['ff12::1', 'ff12::2', 'ff12::3']);
    expect(provider.joins.map((join) => join.frees)).toEqual([1, 1, 0]);
    subscription.unsubscribe();
    expect(provider.alive()).toBe(0);
  });

  it('does not pile up on the stack when joins end at once', () => {
    const provider = manualProvider((join, index) => {
      // The first makes the others wait; then each makes room for the next.
      if (index === 0) return;
      if (index % 2 === 0) join.joined();
      else join.complete({ status: -110 });
    });
    const requests = Array.from({ length: 10_001 }, (_, n) => ({
      provider,
      record: { mgid: `ff12::${n.toString(16)}` },
    }));
    let joined = 0;
    const subscription = joinMulticastAll$(requests, { concurrency: 1 }).subscribe((event) => {
      if (event.type === 'joined') joined += 1;
    });
    expect(provider.joins).toHaveLength(1);
    provider.joins[0]?.joined();
    expect(joined).toBe(5_001);
    subscription.unsubscribe();
    expect(provider.alive()).toBe(0);
  });

  it('bounds rejoins as well, and keeps their port', () => {
    const provider = manualProvider(undefined, {
      resolvePort: () => ({ device: 'd', port: provider.joins.length + 1 }),
    });
    // Without a time limit, or the flush would go from timeout to rejoin for ever.
    const requests = ['ff12::1', 'ff12::2'].map((mgid) => ({
      provider,
      record: { mgid },
      joinTimeoutMs: Infinity,
    }));
    scheduler.run((helpers) => {
      const subscription = joinMulticastAll$(requests, {
        concurrency: 1,
        each: rejoinOnReset({ initialDelayMs: 1, jitter: 0, scheduler }),
      }).subscribe();
      provider.joins[0]?.joined();
      provider.joins[1]?.joined();
      provider.joins[0]?.complete({ status: -102 });
      provider.joins[1]?.complete({ status: -102 });
      helpers.flush();
      expect(provider.joins).toHaveLength(3);
      provider.joins[2]?.joined();
      expect(provider.joins.map((join) => join.request.port)).toEqual([1, 2, 1, 2]);
      subscription.unsubscribe();
      expect(provider.alive()).toBe(0);
    });
  });

  it('evaluates a factory once per join, for the key and the join', () => {
    const provider = manualProvider();
    const qkeys: number[] = [];
    const factory = (): JoinRequest => {
      qkeys.push(qkeys.length + 1);
      return { provider, record: { mgid: 'ff12::1', qkey: qkeys.length } };
    };
    const subscription = joinMulticastAll$([factory], {
      each: rejoinOnReset({ initialDelayMs: 0, scheduler: queueScheduler }),
    }).subscribe();
    expect(qkeys).toEqual([1]);
    provider.joins[0]?.joined();
    provider.joins[0]?.complete({ status: -102 });
    expect(qkeys).toEqual([1, 2]);
    expect(provider.joins.map(({ request }) => request.record.qkey)).toEqual([1, 2]);
    subscription.unsubscribe();
    expect(provider.alive()).toBe(0);
  });

  it.each([
    [{ record: { mgid: 'ff12::1' } }, {}, 'expected a list'],
    ['ff12::1', {}, "the requests are 'ff12::1'; expected a list"],
    [undefined, {}, 'the requests are undefined'],
    [[], { concurrent: 1 }, 'concurrent is no option of joinMulticastAll$()'],
    [[], { each: 5 }, 'each is 5; expected a function'],
    [[], { key: 'mgid' }, "key is 'mgid'; expected a function"],
  ])('refuses the requests %j with the options %j', (requests, options, message) => {
    const make = () => joinMulticastAll$(requests as never, options as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('ends with a set that is no list', () => {
    const errors: unknown[] = [];
    joinMulticastAll$(of({ record: { mgid: 'ff12::1' } }) as never).subscribe({
      error: (error: unknown) => errors.push(error),
    });
    expect(errors).toMatchObject([{ name: 'TypeError' }]);
  });

  it('checks its options', () => {
    for (const concurrency of [0, -1, 1.5, NaN]) {
      expect(() => joinMulticastAll$([], { concurrency })).toThrow(RangeError);
    }
    expect(() => joinMulticastAll$([], { concurrency: '2' as never })).toThrow(TypeError);
  });
});
