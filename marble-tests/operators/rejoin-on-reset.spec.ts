import {
  asyncScheduler,
  concat,
  config,
  finalize,
  merge,
  NEVER,
  Observable,
  of,
  queueScheduler,
  Subject,
  Subscription,
  take,
  tap,
  throwError,
  VirtualTimeScheduler,
} from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinRequest } from '../../src/contract/request.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import type { RejoinPolicy } from '../../src/operators/rejoin-on-reset.js';
import { shareMembership } from '../../src/operators/share-membership.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import { manualProvider } from '../observable/manual-provider.js';

const MGID = 'ff12::1';
const record = { mgid: MGID };

describe('rejoinOnReset', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  /** Without jitter, delays of 2, 4, 8, 8, ... and an outage that ends after 5 joined. */
  const policy: RejoinPolicy = {
    initialDelayMs: 2,
    maxDelayMs: 8,
    jitter: 0,
    stableMs: 5,
    graceMs: 20,
  };

  it('joins again after a reset', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['--j------r', '-j'] });
      const result = '                                   --j------r--j---';
      const first = '                                    ^--------!------';
      const second = '                                   -----------^---!';
      const until = '                                    ^--------------!';
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$, until).toBe(result);
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(first);
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe(second);
    });
  });

  it('passes failures before the first joined', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['--t'] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$).toBe('--(t#)', undefined, 'ETIMEDOUT');
    });
  });

  it('passes a reset before the first joined', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['--r'] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$).toBe('--(r#)', undefined, 'ENETRESET');
    });
  });

  it('doubles the delay up to the limit, over retryable failures', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: ['jr', { sync: 't' }, { sync: 'a' }, { sync: 'n' }, { sync: 'e' }, { sync: 'j' }],
      });
      // Failures at 1, 3, 7, 15 and 23; delays of 2, 4, 8, 8 and 8.
      const result = 'jr-t---a-------n-------e-------j-';
      const until = ' ^--------------------------------!';
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$, until).toBe(result);
    });
  });

  it('renews the delay only after a stable membership', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr', 'j---r', 'j----r', 'j'] });
      // Joined for 4: the outage goes on and the delay is 4. Joined for 5: it starts anew with 2.
      const result = 'jr-j---r---j----r-j-';
      const until = ' ^-------------------!';
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$, until).toBe(result);
    });
  });

  it('ends the outage with any joined when stableMs is 0', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr', 'jr', 'jr', 'j'] });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, stableMs: 0 }),
      );
      helpers.expectObservable(source$, '^----------!').toBe('jr-jr-jr-j-');
    });
  });

  it('retries EINVAL within the grace of the latest reset', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: ['jr', { sync: 'i' }, { sync: 'i' }, { sync: 'i' }],
      });
      // Reset at 1, EINVAL at 3 and 7; the one at 15 is past the grace of 6.
      const result = 'jr-i---i-------(i#)';
      let given: unknown;
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, graceMs: 6 }),
        tap({
          error: (error: unknown) => {
            given = error;
          },
        }),
      );
      helpers.expectObservable(source$).toBe(result, undefined, 'EINVAL');
      helpers.flush();
      expect(given).toMatchObject({ attempts: 3, outageMs: 14 });
    });
  });

  it('does not retry EINVAL without a reset', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['j-t', { sync: 'i' }] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$).toBe('j-t-(i#)', undefined, 'EINVAL');
    });
  });

  it('counts the grace from a second reset', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: ['jr', { sync: 'r' }, { sync: 'i' }, { sync: 'j' }],
      });
      // Resets at 1 and 3, EINVAL at 7: beyond 4 of the first, within 4 of the second.
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, graceMs: 4 }),
      );
      helpers.expectObservable(source$, '^---------------!').toBe('jr-r---i-------j');
    });
  });

  it('passes failures that are not retryable', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(
        helpers,
        { 'ff12::1': ['jd'], 'ff12::2': ['jx'] },
        { completions: { x: { status: -102, reason: 'device-removed' } } },
      );
      const of = (mgid: string): Observable<MulticastEvent<unknown>> =>
        joinMulticast$({ provider, record: { mgid } }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(of('ff12::1')).toBe('j(d#)', undefined, 'ENODEV');
      helpers.expectObservable(of('ff12::2')).toBe('j(r#)', undefined, 'ENETRESET');
    });
  });

  it('gives up when the next attempt would be too late, with attempts and outage', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr', { sync: 't' }, { sync: 't' }] });
      // The outage starts at 1. At 7, the next attempt would be at 15, which is 14 into it.
      let given: unknown;
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, maxOutageMs: 13 }),
        tap({
          error: (error: unknown) => {
            given = error;
          },
        }),
      );
      helpers.expectObservable(source$).toBe('jr-t---(t#)', undefined, 'ETIMEDOUT');
      helpers.flush();
      expect(given).toMatchObject({ attempts: 2, outageMs: 6 });
    });
  });

  it('goes on when the next attempt is just in time', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: ['jr', { sync: 't' }, { sync: 't' }, { sync: 'j' }],
      });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, maxOutageMs: 14 }),
      );
      helpers.expectObservable(source$, '^---------------!').toBe('jr-t---t-------j');
    });
  });

  it('never ends a pending or joined attempt because of the outage', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr', '100ms j'] });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, maxOutageMs: 2 }),
      );
      helpers.expectObservable(source$, '200ms !').toBe('jr- 100ms j');
    });
  });

  it('retries from the start with retryInitial, and counts the first join', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-t', { sync: 'e' }, { sync: 'a' }] });
      let given: unknown;
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ ...policy, retryInitial: true, maxOutageMs: 10 }),
        tap({
          error: (error: unknown) => {
            given = error;
          },
        }),
      );
      helpers.expectObservable(source$).toBe('-t-e---(a#)', undefined, 'EAGAIN');
      helpers.flush();
      expect(given).toMatchObject({ attempts: 3, outageMs: 6 });
    });
  });

  it('does not retry an EINVAL at the start, nor misuse', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-i'] });
      const retrying = rejoinOnReset({ ...policy, retryInitial: true });
      helpers
        .expectObservable(joinMulticast$({ provider, record }).pipe(retrying))
        .toBe('-(i#)', undefined, 'EINVAL');
      helpers
        .expectObservable(joinMulticast$({ provider, record: { mgid: '?' } }).pipe(retrying))
        .toBe('#', undefined, 'TypeError');
    });
  });

  it('takes jitter off the delay', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['r', 'r', 'r', 'j'] });
      const randoms = [0, 0.5, 1];
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({
          initialDelayMs: 100,
          jitter: 0.5,
          retryInitial: true,
          random: () => randoms.shift() ?? 0,
        }),
      );
      // 100 * 1, 200 * 0.75, 400 * 0.5.
      helpers.expectObservable(source$, '500ms !').toBe('r 99ms r 149ms r 199ms j');
    });
  });

  it.each([-0.1, 1.1, NaN])('ends the stream with a RangeError when random gives %s', (value) => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr'] });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ random: () => value }),
      );
      helpers.expectObservable(source$).toBe('j(r#)', undefined, 'RangeError');
    });
  });

  it('leaves no timer behind', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr'] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset());
      helpers.expectObservable(source$, '^---!').toBe('jr---');
      helpers.flush();
      expect(scheduler.now()).toBeLessThan(1_000);
    });
  });

  it('stops at take, also when joined on the stack', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [{ sync: 'jr' }] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy), take(1));
      helpers.expectObservable(source$).toBe('(j|)');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('(^!)');
    });
  });

  it('passes never, empty, values and other errors', () => {
    scheduler.run((helpers) => {
      const never$ = NEVER as Observable<MulticastEvent<unknown>>;
      const empty$ = helpers.cold<MulticastEvent<unknown>>('--|');
      const failing$ = throwError(() => new Error('other')) as Observable<MulticastEvent<unknown>>;
      helpers.expectObservable(never$.pipe(rejoinOnReset())).toBe('-');
      helpers.expectObservable(empty$.pipe(rejoinOnReset())).toBe('--|');
      helpers.expectObservable(failing$.pipe(rejoinOnReset())).toBe('#', undefined, 'other');
    });
  });

  it('keeps each subscription to itself', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['jr', '-t', 'j'] });
      const source$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));
      helpers.expectObservable(source$, '^---!').toBe('jr-j');
      helpers.expectObservable(source$, '^---!').toBe('-(t#)', undefined, 'ETIMEDOUT');
    });
  });

  it('does not pile up on the stack, even with delays of 0 on a scheduler that runs at once', () => {
    const provider = manualProvider((join, index) => {
      if (index < 20_000) join.complete({ status: -110 });
      else join.joined();
    });
    const seen: string[] = [];
    const subscription = joinMulticast$({ provider, record })
      .pipe(rejoinOnReset({ initialDelayMs: 0, retryInitial: true, scheduler: queueScheduler }))
      .subscribe((event) => {
        if (event.type === 'joined') seen.push(event.type);
      });
    expect(seen).toEqual(['joined']);
    expect(provider.alive()).toBe(1);
    subscription.unsubscribe();
    expect(provider.alive()).toBe(0);
  });

  it.each<[RejoinPolicy, ErrorConstructor, RegExp]>([
    [{ initialDelayMs: -1 }, RangeError, /^initialDelayMs is -1/],
    [{ initialDelayMs: NaN }, RangeError, /^initialDelayMs/],
    [{ initialDelayMs: Infinity }, RangeError, /^initialDelayMs/],
    [{ maxDelayMs: 2 ** 31 }, RangeError, /^maxDelayMs/],
    [{ maxDelayMs: Infinity }, RangeError, /^maxDelayMs/],
    [{ graceMs: -1 }, RangeError, /^graceMs/],
    [{ graceMs: 2 ** 31 }, RangeError, /^graceMs/],
    [{ stableMs: NaN }, RangeError, /^stableMs/],
    [{ maxOutageMs: -1 }, RangeError, /^maxOutageMs/],
    [{ jitter: -0.1 }, RangeError, /^jitter is -0\.1; expected a number from 0 to 1/],
    [{ jitter: 1.1 }, RangeError, /^jitter/],
    [{ jitter: '1' as unknown as number }, TypeError, /^jitter/],
    [{ random: 5 as unknown as () => number }, TypeError, /^random/],
    [{ scheduler: {} as never }, TypeError, /^scheduler/],
  ])('refuses %o', (bad, type, message) => {
    expect(() => rejoinOnReset(bad)).toThrow(type);
    expect(() => rejoinOnReset(bad)).toThrow(message);
  });

  it('accepts 0 and, where nothing is scheduled, Infinity', () => {
    rejoinOnReset({ initialDelayMs: 0, maxDelayMs: 0, graceMs: 0, stableMs: 0, maxOutageMs: 0 });
    rejoinOnReset({ graceMs: Infinity, stableMs: Infinity, maxOutageMs: Infinity });
  });
});

describe('rejoinOnReset keeps the place of the first membership', () => {
  /** A provider whose default port moves on with each choice. */
  function movingProvider(): ReturnType<typeof manualProvider> & { resolved: () => number } {
    let port = 0;
    const provider = manualProvider(undefined, {
      resolvePort: (request) => {
        port += 1;
        return { device: request.device ?? 'd', port: request.port ?? port };
      },
    });
    return Object.assign(provider, { resolved: () => port });
  }
  const ports = (provider: ReturnType<typeof manualProvider>): (number | undefined)[] =>
    provider.joins.map((join) => join.request.port);
  const policy: RejoinPolicy = { initialDelayMs: 0, scheduler: queueScheduler };
  const reset = { status: -102 };

  it('chooses anew until joined, then never again', () => {
    const provider = movingProvider();
    const subscription = joinMulticast$({ provider, record })
      .pipe(rejoinOnReset({ ...policy, retryInitial: true }))
      .subscribe();
    provider.joins[0]?.complete({ status: -11 });
    provider.joins[1]?.joined();
    provider.joins[1]?.complete(reset);
    provider.joins[2]?.complete({ status: -110 });
    provider.joins[3]?.joined();
    provider.joins[3]?.complete(reset);
    expect(ports(provider)).toEqual([1, 2, 2, 2, 2]);
    subscription.unsubscribe();
  });

  it('also over a factory that changes its mind, and the record follows the factory', () => {
    const [first, second] = [movingProvider(), movingProvider()];
    let calls = 0;
    const subscription = joinMulticast$(() => {
      calls += 1;
      return { provider: calls === 1 ? first : second, record: { mgid: MGID, qkey: calls } };
    })
      .pipe(rejoinOnReset(policy))
      .subscribe();
    first.joins[0]?.joined();
    first.joins[0]?.complete(reset);
    expect(first.joins.map(({ request }) => [request.port, request.record.qkey])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(second.joins).toHaveLength(0);
    subscription.unsubscribe();
  });

  it('with the same request where nothing in it has changed, and else with another', () => {
    const provider = movingProvider();
    const scheduler = new VirtualTimeScheduler();
    const common = { provider, record: { mgid: 'FF12:0::1', qkey: 1 }, context: 'a' };
    const requests: JoinRequest<string>[] = [
      common,
      common,
      { ...common, record: { joinState: 'full-member', qkey: 1, mgid: 'ff12::0:1' } },
      { ...common, record: { mgid: 'ff12::1' } },
      common,
      { ...common, context: 'b' },
      { ...common, joinTimeoutMs: 1 },
      { ...common, joinTimeoutMs: 1, scheduler },
      { ...common, componentMask: 3n },
      { provider, group: '239.1.2.3' },
      { provider, group: '239.1.2.4' },
      { provider, group: '239.1.2.4' },
    ];
    const seen: unknown[] = [];
    const subscription = joinMulticast$(() => requests[seen.length] ?? common)
      .pipe(rejoinOnReset(policy))
      .subscribe((event) => {
        if (event.type === 'joined') seen.push(event.request);
      });
    for (let attempt = 0; attempt < requests.length; attempt += 1) {
      provider.joins[attempt]?.joined();
      provider.joins[attempt]?.complete(reset);
    }
    subscription.unsubscribe();
    const same = seen.map((request, index) => index > 0 && request === seen[index - 1]);
    expect(same.flatMap((is, index) => (is ? [index] : []))).toEqual([1, 2, 11]);
    expect(seen[5]).toMatchObject({ record: { mgid: 'ff12::1', qkey: 1 }, context: 'b' });
    expect(seen[7]).toMatchObject({ joinTimeoutMs: 1, scheduler });
    expect(seen[8]).toMatchObject({ componentMask: 3n });
    expect(seen[10]).toMatchObject({ group: '239.1.2.4', device: 'd', port: 1 });
  });

  it('for each of several joins in one source', () => {
    const provider = movingProvider();
    const subscription = merge(
      joinMulticast$({ provider, record }),
      joinMulticast$({ provider, record: { mgid: 'ff12::2' } }),
    )
      .pipe(rejoinOnReset(policy))
      .subscribe();
    provider.joins[0]?.joined();
    provider.joins[1]?.joined();
    provider.joins[0]?.complete(reset);
    expect(ports(provider)).toEqual([1, 2, 1, 2]);
    // Only one of them is joined this time, and the other is not forgotten.
    provider.joins[2]?.joined();
    provider.joins[2]?.complete(reset);
    expect(ports(provider)).toEqual([1, 2, 1, 2, 1, 2]);
    expect(provider.joins[5]?.request.record.mgid).toBe('ff12::2');
    subscription.unsubscribe();
  });

  it('through another rejoinOnReset that gave up', () => {
    const provider = movingProvider();
    const subscription = joinMulticast$({ provider, record })
      .pipe(rejoinOnReset({ ...policy, maxOutageMs: 0, initialDelayMs: 1 }), rejoinOnReset(policy))
      .subscribe();
    provider.joins[0]?.joined();
    provider.joins[0]?.complete(reset);
    expect(ports(provider)).toEqual([1, 1]);
    subscription.unsubscribe();
  });

  it('through shareMembership, whoever joins again', () => {
    const provider = movingProvider();
    const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
    const one = shared$.pipe(rejoinOnReset({ ...policy, initialDelayMs: 1 })).subscribe();
    const two = shared$.pipe(rejoinOnReset(policy)).subscribe();
    provider.joins[0]?.joined();
    provider.joins[0]?.complete(reset);
    expect(ports(provider)).toEqual([1, 1]);
    one.unsubscribe();
    two.unsubscribe();
  });

  it('but not for other subscriptions, nor for joins that a consumer starts', () => {
    const provider = movingProvider();
    const source$ = joinMulticast$({ provider, record });
    const nested = vi.fn(() => source$.subscribe());
    const subscription = source$.pipe(rejoinOnReset(policy)).subscribe();
    provider.joins[0]?.joined();
    const other = source$.pipe(rejoinOnReset(policy)).subscribe(nested);
    provider.joins[1]?.joined();
    expect(ports(provider)).toEqual([1, 2, 3]);
    subscription.unsubscribe();
    other.unsubscribe();
  });

  it('nor for joins that a consumer starts while a rejoin is being made', () => {
    const provider = movingProvider();
    let calls = 0;
    const eager = {
      ...provider,
      joinMulticast: (...args: Parameters<typeof provider.joinMulticast>) => {
        calls += 1;
        const handle = provider.joinMulticast(...args);
        if (calls === 2) provider.joins[1]?.joined();
        return handle;
      },
    };
    const source$ = joinMulticast$({ provider: eager, record });
    const nested = new Subscription();
    const subscription = source$.pipe(rejoinOnReset(policy)).subscribe((event) => {
      if (event.type === 'joined' && calls === 2) nested.add(source$.subscribe());
    });
    provider.joins[0]?.joined();
    provider.joins[0]?.complete(reset);
    expect(ports(provider)).toEqual([1, 1, 2]);
    subscription.unsubscribe();
    nested.unsubscribe();
  });

  it('ends with the error of a provider also when that is frozen', () => {
    const frozen: MulticastError = Object.freeze(new MulticastError('no port', { status: -19 }));
    const provider = manualProvider((join, index) => {
      if (index > 0) throw frozen;
      join.joined();
      join.complete({ status: -102 });
    });
    const errors: unknown[] = [];
    const scheduler = new TestScheduler(marbleEqual);
    scheduler.run(() => {
      joinMulticast$({ provider, record: { mgid: 'ff12::1' } })
        .pipe(rejoinOnReset())
        .subscribe({ error: (error: unknown) => errors.push(error) });
    });
    expect(errors).toEqual([frozen]);
    expect(errors[0]).toBe(frozen);
  });

  it('sets attempts on the error that was the event as well', () => {
    const provider = manualProvider();
    const errors: unknown[] = [];
    joinMulticast$({ provider, record })
      .pipe(rejoinOnReset({ ...policy, initialDelayMs: 5, maxOutageMs: 1 }))
      .subscribe({
        next: (event) => event.type === 'reset' && errors.push(event.error),
        error: (error: unknown) => errors.push(error),
      });
    provider.joins[0]?.joined();
    provider.joins[0]?.complete(reset);
    expect(errors[0]).toBeInstanceOf(MulticastError);
    expect(errors[0]).toBe(errors[1]);
    expect(errors[1]).toMatchObject({ attempts: 0, outageMs: 0 });
  });

  describe('with sources that are no joinMulticast$', () => {
    const joined = { type: 'joined', request: {} } as unknown as MulticastEvent<unknown>;
    const failed = (): MulticastError => new MulticastError('reset', { status: 102 });
    const log: string[] = [];
    const observer = {
      next: ({ type }: MulticastEvent<unknown>) => log.push(type),
      error: (error: unknown) => log.push(String(error)),
    };
    beforeEach(() => {
      log.length = 0;
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    it('passes their events, whatever is in them', () => {
      of(joined, { type: 'joined' } as MulticastEvent<unknown>)
        .pipe(rejoinOnReset())
        .subscribe(observer);
      expect(log).toEqual(['joined', 'joined']);
    });

    it('ends with what the scheduler throws, the attempt before', () => {
      const broken = (calls: number): SchedulerLike => ({
        now: () => {
          if ((calls -= 1) < 0) throw new Error('no clock');
          return 0;
        },
        schedule: () => {
          throw new Error('no timers');
        },
      });
      const live$ = new Subject<MulticastEvent<unknown>>();
      live$
        .pipe(
          finalize(() => log.push('torn down')),
          rejoinOnReset({ scheduler: broken(0) }),
        )
        .subscribe(observer);
      live$.next(joined);
      expect(log.splice(0)).toEqual(['torn down', 'Error: no clock']);
      const failing$ = concat(
        of(joined),
        throwError(() => failed()),
      );
      failing$.pipe(rejoinOnReset({ scheduler: broken(1) })).subscribe(observer);
      expect(log.splice(0)).toEqual(['joined', 'Error: no clock']);
      failing$.pipe(rejoinOnReset({ scheduler: broken(2) })).subscribe(observer);
      expect(log).toEqual(['joined', 'Error: no timers']);
    });

    it('leaves no timer behind where a scheduler ran an earlier one at once', () => {
      vi.useFakeTimers();
      const delays = [1, 0];
      const fail: (() => void)[] = [];
      const source$ = new Observable<MulticastEvent<unknown>>((attempt) => {
        attempt.next(joined);
        fail.push(() => {
          attempt.error(failed());
        });
        // The second attempt fails within the timer of the first failure.
        if (fail.length === 2) fail[1]?.();
      });
      const random = (): number => delays.shift() ?? 0;
      const subscription = source$
        .pipe(rejoinOnReset({ jitter: 1, random, scheduler: queueScheduler }))
        .subscribe(observer);
      fail[0]?.();
      expect(fail).toHaveLength(2);
      expect(vi.getTimerCount()).toBe(1);
      subscription.unsubscribe();
      expect(vi.getTimerCount()).toBe(0);
    });

    it('goes on where RxJS is told to throw what a handler throws', () => {
      vi.useFakeTimers();
      let attempts = 0;
      const source$ = new Observable<MulticastEvent<unknown>>((attempt) => {
        attempts += 1;
        attempt.next(joined);
        attempt.add(asyncScheduler.schedule(() => attempt.error(failed()), 1));
      });
      const deprecated: { useDeprecatedSynchronousErrorHandling: boolean } = config;
      deprecated.useDeprecatedSynchronousErrorHandling = true;
      try {
        const subscription = source$.pipe(rejoinOnReset()).subscribe(() => {
          if (attempts === 2) throw new Error('a handler');
        });
        expect(() => vi.advanceTimersByTime(2_000)).toThrow('a handler');
        vi.advanceTimersByTime(10_000);
        expect(attempts).toBeGreaterThan(2);
        subscription.unsubscribe();
      } finally {
        deprecated.useDeprecatedSynchronousErrorHandling = false;
      }
    });
  });
});
