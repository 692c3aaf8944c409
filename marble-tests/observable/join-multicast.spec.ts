import { subscribe as subscribeChannel, unsubscribe } from 'node:diagnostics_channel';
import {
  concatMap,
  defer,
  EMPTY,
  mergeMap,
  NEVER,
  of,
  retry,
  Subject,
  take,
  takeUntil,
  tap,
  VirtualTimeScheduler,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinCompletion } from '../../src/contract/provider.js';
import type { JoinRequest } from '../../src/contract/request.js';
import type { DiagnosticChannel } from '../../src/errors/diagnostics.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { joinedRecord } from '../../src/testing/joined-record.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import { manualProvider } from './manual-provider.js';

const MGID = 'ff12::1';

/** Everything a subscription is told, in order. */
function recording(): {
  log: string[];
  errors: unknown[];
  events: MulticastEvent<unknown>[];
  observer: {
    next: (event: MulticastEvent<unknown>) => void;
    error: (error: unknown) => void;
    complete: () => void;
  };
} {
  const log: string[] = [];
  const errors: unknown[] = [];
  const events: MulticastEvent<unknown>[] = [];
  return {
    log,
    errors,
    events,
    observer: {
      next: (event) => {
        log.push(event.type);
        events.push(event);
      },
      error: (error) => {
        log.push('E');
        errors.push(error);
      },
      complete: () => {
        log.push('C');
      },
    },
  };
}

function listen(name: DiagnosticChannel): { messages: unknown[]; stop: () => void } {
  const messages: unknown[] = [];
  const listener = (message: unknown): void => {
    messages.push(message);
  };
  subscribeChannel(name, listener);
  return {
    messages,
    stop: () => {
      unsubscribe(name, listener);
    },
  };
}

describe('joinMulticast$ in marbles', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  const events$ = (
    provider: JoinRequest['provider'] & object,
    rest: Partial<JoinRequest> = {},
  ): ReturnType<typeof joinMulticast$> =>
    joinMulticast$({ provider, record: { mgid: MGID }, ...rest });

  it('gives joined and stays', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [' --j-'] });
      const joined = '                                      --j-';
      const spans = '                                       ^---------!';
      const until = '                                       ^---------!';
      helpers.expectObservable(events$(provider), until).toBe(joined);
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(spans);
    });
  });

  it('gives a failure as a value, then as the error, and has freed before', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [' ---i'] });
      const result = '                                      ---(i#)';
      const span = '                                        ^--!';
      helpers.expectObservable(events$(provider)).toBe(result, undefined, 'EINVAL');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(span);
    });
  });

  it('gives a reset after joined', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [' --j--r'] });
      const result = '                                      --j--(r#)';
      const span = '                                        ^----!';
      helpers.expectObservable(events$(provider)).toBe(result, undefined, 'ENETRESET');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(span);
    });
  });

  it('gives a reset before joined', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [' --r'] });
      helpers.expectObservable(events$(provider)).toBe('   --(r#)', undefined, 'r');
    });
  });

  it('handles completions on the stack right after the join', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [{ sync: 'jr' }] });
      helpers.expectObservable(events$(provider)).toBe('   (jr#)');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('(^!)');
    });
  });

  it('frees at an early unsubscription and is silent afterwards', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [{ marbles: '----jr', late: true }] });
      const until = '  --!';
      const span = '   ^-!';
      const result = ' ---';
      helpers.expectObservable(events$(provider), until).toBe(result);
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(span);
    });
  });

  it('times out in the joining phase only', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        'ff12::1': ['', '--j'],
        'ff12::2': ['---j'],
      });
      const silent$ = events$(provider, { joinTimeoutMs: 3 });
      const member$ = events$(provider, { joinTimeoutMs: 3 });
      const tie$ = events$(provider, { record: { mgid: 'ff12::2' }, joinTimeoutMs: 3 });
      helpers.expectObservable(silent$, '      ^------!').toBe(' ---(t#)', undefined, 'ETIMEDOUT');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^--!');
      helpers.expectObservable(member$, '      ^------!').toBe(' --j-----');
      helpers.expectObservable(tie$, '         ^------!').toBe(' ---j----');
    });
  });

  it('waits 15 s by default', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [''] });
      helpers.expectObservable(events$(provider)).toBe('15s (t#)');
    });
  });

  it('schedules nothing with Infinity, and nothing when joined at once', () => {
    scheduler.run((helpers) => {
      const schedule = vi.spyOn(scheduler, 'schedule');
      const provider = manualProvider((join, index) => {
        if (index === 1) join.joined();
      });
      const open = events$(provider, { joinTimeoutMs: Infinity, scheduler }).subscribe();
      const joined = events$(provider, { scheduler }).subscribe();
      expect(schedule).not.toHaveBeenCalled();
      const pending = events$(provider, { scheduler }).subscribe();
      expect(schedule).toHaveBeenCalledTimes(1);
      for (const subscription of [open, joined, pending]) subscription.unsubscribe();
      expect(provider.alive()).toBe(0);
      helpers.expectObservable(EMPTY).toBe('|');
    });
  });

  it('makes a new join for each subscription, and calls a factory for each', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { 'ff12::1': ['-j'], 'ff12::2': ['--t'] });
      let calls = 0;
      const factory$ = joinMulticast$(() => {
        calls += 1;
        return { provider, record: { mgid: `ff12::${String(calls)}` } };
      });
      expect(calls).toBe(0);
      helpers.expectObservable(factory$, '^---!').toBe('-j---');
      helpers.expectObservable(factory$, '^---!').toBe('--(t#)');
    });
  });

  it('works with retry', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-t', '--j'] });
      const result = '                                    -t---j---';
      const first = '                                     ^!';
      const second = '                                    ---^----!';
      const until = '                                     ^-------!';
      const source$ = events$(provider).pipe(retry({ count: 1, delay: 2 }));
      helpers.expectObservable(source$, until).toBe(result);
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(first);
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe(second);
    });
  });
});

describe('joinMulticast$ call by call', () => {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    vi.useRealTimers();
  });
  const record = { mgid: MGID };

  it('is cold', () => {
    const provider = manualProvider();
    void joinMulticast$({ provider, record });
    expect(provider.joins).toHaveLength(0);
  });

  it('hands the provider a resolved request, which is on the event as well', () => {
    const provider = manualProvider();
    const { events, observer } = recording();
    const subscription = joinMulticast$({
      provider,
      device: 'mlx5_0',
      port: 2,
      record: { mgid: 'FF12:0::1', mtu: 2048 },
      context: 'c',
    }).subscribe(observer);
    const [join] = provider.joins;
    expect(join?.request).toMatchObject({
      provider,
      device: 'mlx5_0',
      port: 2,
      record: { mgid: 'ff12::1', mtu: 2048, mtuSelector: 'exactly', joinState: ['full-member'] },
      componentMask: 0x10033n,
      joinTimeoutMs: 15_000,
      context: 'c',
    });
    join?.joined();
    expect(events[0]?.request).toBe(join?.request);
    expect(events[0]).toMatchObject({ type: 'joined', status: 0, context: 'c' });
    subscription.unsubscribe();
    expect(join?.frees).toBe(1);
  });

  it('lets a mask override the derived one, and leaves the MGID of a group to the provider', () => {
    const provider = manualProvider();
    joinMulticast$({ provider, record, componentMask: 3n }).subscribe().unsubscribe();
    joinMulticast$({ provider, group: '239.1.2.3' }).subscribe().unsubscribe();
    expect(provider.joins[0]?.request.componentMask).toBe(3n);
    expect(provider.joins[1]?.request).toMatchObject({
      group: '239.1.2.3',
      record: { joinState: ['full-member'] },
      componentMask: 0x10003n,
    });
    expect(provider.joins[1]?.request.record).not.toHaveProperty('mgid');
  });

  it('delivers a completion synchronously', () => {
    const provider = manualProvider();
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    provider.joins[0]?.joined();
    expect(log).toEqual(['joined']);
    provider.joins[0]?.complete({ status: -102, reason: 'sm-change' });
    expect(log).toEqual(['joined', 'reset', 'E']);
  });

  it.each<[string, object, object]>([
    ['an SA status of null', { status: -22, saStatus: null }, { code: 'EINVAL' }],
    ['a negative SA status', { status: -22, saStatus: -1 }, { code: 'EINVAL' }],
    ['fields of null', { status: -22, fields: null }, { code: 'EINVAL' }],
    ['fields as text', { status: -22, fields: 'mgid' }, { code: 'EINVAL' }],
    ['an unknown reason', { status: -102, reason: 'mood' }, { reason: 'group-error' }],
    ['an empty message', { status: -22, message: '' }, { code: 'EINVAL' }],
  ])('takes %s for absent', (_what, completion, expected) => {
    const provider = manualProvider();
    const { log, errors, events, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    expect(() => provider.joins[0]?.complete(completion as JoinCompletion)).not.toThrow();
    expect(log).toEqual(['reason' in expected ? 'reset' : 'error', 'E']);
    expect(errors[0]).toMatchObject(expected);
    expect(events[0]).toMatchObject({ error: expected });
    for (const field of ['saStatus', 'saStatusName', 'fields']) {
      expect(errors[0]).not.toHaveProperty(field);
    }
    expect((errors[0] as Error).message).toMatch(/^ff12::1: E[A-Z]+: [a-z]/);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it.each([{}, [], { mgid: 5 }, null])('takes success with the record %j for EPROTO', (given) => {
    const provider = manualProvider();
    const { log, errors, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    provider.joins[0]?.complete({ status: 0, record: given } as never);
    expect(log).toEqual(['error', 'E']);
    expect(errors[0]).toMatchObject({ code: 'EPROTO' });
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('tells everything about a failure, with one error on the event and as the error', () => {
    const provider = manualProvider();
    const { events, errors, observer } = recording();
    joinMulticast$({ provider, record, device: 'd', port: 1 }).subscribe(observer);
    provider.joins[0]?.complete({ status: 22, saStatus: 0x0600, fields: ['qkey'] });
    const [event] = events;
    expect(event).toMatchObject({ type: 'error', status: -22 });
    expect(event?.type === 'error' && event.error).toBe(errors[0]);
    expect(errors[0]).toMatchObject({
      code: 'EINVAL',
      errno: -22,
      status: 22,
      saStatus: 0x0600,
      saStatusName: 'INSUFFICIENT_COMPONENTS',
      fields: ['qkey'],
      device: 'd',
      port: 1,
      mgid: MGID,
    });
  });

  it('gives a removed device as a reset that is not retryable', () => {
    const provider = manualProvider();
    const { events, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    provider.joins[0]?.complete({ status: -102, reason: 'device-removed' });
    expect(events[0]).toMatchObject({
      type: 'reset',
      status: -102,
      reason: 'device-removed',
      error: { retryable: false, reason: 'device-removed' },
    });
  });

  it('knows the MGID that was assigned', () => {
    const provider = manualProvider();
    const { errors, observer } = recording();
    joinMulticast$({ provider, record: { mgid: '::' } }).subscribe(observer);
    const [join] = provider.joins;
    if (join === undefined) throw new Error('no join');
    join.complete({ status: 0, record: { ...joinedRecord(join.request), mgid: 'ff12::aa' } });
    join.complete({ status: -102 });
    expect(errors[0]).toMatchObject({ mgid: 'ff12::aa', reason: 'group-error' });
  });

  it('has freed before a failure is delivered', () => {
    const provider = manualProvider();
    const alive: number[] = [];
    const note = (): void => {
      alive.push(provider.alive());
    };
    joinMulticast$({ provider, record }).subscribe({ next: note, error: note });
    provider.joins[0]?.complete({ status: -5 });
    expect(alive).toEqual([0, 0]);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it.each<[string, Partial<JoinCompletion> | undefined]>([
    ['success without a record', { status: 0 }],
    ['a status that is no integer', { status: 1.5 }],
    ['NaN', { status: NaN }],
    ['no status', {}],
    ['nothing', undefined],
  ])('takes %s for EPROTO', (_, completion) => {
    const provider = manualProvider();
    const { log, errors, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    provider.joins[0]?.complete(completion as JoinCompletion);
    expect(log).toEqual(['error', 'E']);
    expect(errors[0]).toMatchObject({ code: 'EPROTO', errno: -71, retryable: false });
    expect(provider.joins[0]?.frees).toBe(1);

    // The same from within joinMulticast.
    const early = manualProvider((join) => {
      join.complete(completion as JoinCompletion);
    });
    const second = recording();
    joinMulticast$({ provider: early, record }).subscribe(second.observer);
    expect(second.log).toEqual(['error', 'E']);
    expect(second.errors[0]).toMatchObject({ code: 'EPROTO' });
    expect(early.alive()).toBe(0);
  });

  it('drops a duplicate success and counts it in diagnostics', () => {
    const { messages, stop } = listen('rx-ib-multicast:duplicate-completion');
    stops.push(stop);
    const provider = manualProvider();
    const { log, observer } = recording();
    const subscription = joinMulticast$({ provider, record }).subscribe(observer);
    for (let i = 0; i < 3; i += 1) provider.joins[0]?.joined();
    expect(log).toEqual(['joined']);
    expect(messages).toMatchObject([
      { provider: 'manual', mgid: MGID, count: 1 },
      { provider: 'manual', mgid: MGID, count: 2 },
    ]);
    subscription.unsubscribe();
  });

  it('ignores what arrives after the end', () => {
    const { messages, stop } = listen('rx-ib-multicast:late-completion');
    stops.push(stop);
    const provider = manualProvider();
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer).unsubscribe();
    provider.joins[0]?.joined();
    provider.joins[0]?.complete({ status: -102 });
    expect(log).toEqual([]);
    expect(messages).toHaveLength(2);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('turns a throw into an error event, frees nothing and drops what was queued', () => {
    const thrown = Object.assign(new Error('denied'), { errno: -13 });
    const freeMulticast = vi.fn();
    const provider = manualProvider(
      (join) => {
        join.joined();
        throw thrown;
      },
      { freeMulticast },
    );
    const { log, errors, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    expect(log).toEqual(['error', 'E']);
    expect(errors[0]).toBeInstanceOf(MulticastError);
    expect(errors[0]).toMatchObject({ code: 'EACCES', retryable: false, cause: thrown });
    expect(freeMulticast).not.toHaveBeenCalled();
  });

  it.each<[string, () => unknown, string]>([
    ['text', () => 'denied', "'denied'"],
    ['nothing', () => undefined, 'undefined'],
    [
      'what throws when it is shown',
      () => ({
        get [Symbol.toStringTag]() {
          throw new Error('asked for its tag');
        },
      }),
      'a value of type object',
    ],
    [
      'an error that throws when it is read',
      () =>
        Object.defineProperty(new Error('hidden'), 'message', {
          get: () => {
            throw new Error('asked for its message');
          },
        }),
      'a value of type object',
    ],
  ])('wraps %s as well', (_, make, text) => {
    const thrown = make();
    const provider = manualProvider(() => {
      throw thrown;
    });
    const { log, errors, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    expect(log).toEqual(['error', 'E']);
    expect(errors[0]).toMatchObject({ code: 'EIO', retryable: false });
    expect((errors[0] as MulticastError).cause).toBe(thrown);
    expect((errors[0] as MulticastError).message).toContain(text);
  });

  it('passes a MulticastError that was thrown', () => {
    const thrown = new MulticastError('no such device', { status: -19 });
    const provider = manualProvider(() => {
      throw thrown;
    });
    const { errors, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer);
    expect(errors).toEqual([thrown]);
    expect(errors[0]).toBe(thrown);
  });

  it('frees once with take(1), also when joined on the stack', () => {
    const provider = manualProvider((join, index) => {
      if (index === 0) join.joined();
    });
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).pipe(take(1)).subscribe(observer);
    joinMulticast$({ provider, record }).pipe(take(1)).subscribe(observer);
    provider.joins[1]?.joined();
    expect(log).toEqual(['joined', 'C', 'joined', 'C']);
    expect(provider.joins.map((join) => join.frees)).toEqual([1, 1]);
  });

  it('frees when unsubscribed while joinMulticast is on the stack', () => {
    const stop$ = new Subject<void>();
    const provider = manualProvider((join) => {
      join.joined();
      stop$.next();
    });
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).pipe(takeUntil(stop$)).subscribe(observer);
    expect(log).toEqual(['C']);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('is silent when unsubscribed on the stack of a joinMulticast that throws', () => {
    const stop$ = new Subject<void>();
    const provider = manualProvider(() => {
      stop$.next();
      throw new Error('too late to matter');
    });
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).pipe(takeUntil(stop$)).subscribe(observer);
    expect(log).toEqual(['C']);
  });

  it('frees once when freeing makes the provider call back', () => {
    let complete: () => void = () => undefined;
    const free = vi.fn(() => {
      complete();
    });
    const provider = manualProvider(
      (join) => {
        complete = () => {
          join.complete({ status: -102 });
        };
      },
      { freeMulticast: free },
    );
    const { log, observer } = recording();
    joinMulticast$({ provider, record }).subscribe(observer).unsubscribe();
    joinMulticast$({ provider, record }).subscribe(observer);
    complete();
    expect(log).toEqual(['reset', 'E']);
    expect(free).toHaveBeenCalledTimes(2);
  });

  it('keeps order when a handler provokes completions while others are held back', () => {
    const provider = manualProvider((join) => {
      join.joined();
      join.joined();
      join.complete({ status: -102 });
    });
    const { log, observer } = recording();
    joinMulticast$({ provider, record })
      .pipe(
        tap(() => {
          provider.joins[0]?.complete({ status: -5 });
        }),
      )
      .subscribe(observer);
    expect(log).toEqual(['joined', 'reset', 'E']);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('delivers inside a handler what the handler provokes, when nothing is held back', () => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    const log: string[] = [];
    const source$ = joinMulticast$({ provider, record });
    source$.subscribe({
      next: ({ type }) => {
        log.push(`${type} begins`);
        // The handle is known by now: joined is delivered after joinMulticast has returned.
        if (type === 'joined') provider.joins[0]?.complete({ status: -102 });
        log.push(`${type} ends`);
      },
      error: () => log.push('E'),
    });
    expect(log).toEqual(['joined begins', 'reset begins', 'reset ends', 'E', 'joined ends']);
  });

  it('leaves no timer behind once joined', () => {
    const scheduler = new VirtualTimeScheduler();
    const provider = manualProvider();
    const subscription = joinMulticast$({ provider, record, scheduler }).subscribe();
    provider.joins[0]?.joined();
    scheduler.flush();
    expect(scheduler.now()).toBe(0);
    subscription.unsubscribe();
  });

  it('lets a consumer join anew from a failure without two live handles', () => {
    const provider = manualProvider((join, index) => {
      if (index < 5) join.complete({ status: -11 });
    });
    let mostAlive = 0;
    const counted = {
      ...provider,
      joinMulticast: (...args: Parameters<typeof provider.joinMulticast>) => {
        const handle = provider.joinMulticast(...args);
        mostAlive = Math.max(mostAlive, provider.alive());
        return handle;
      },
    };
    const subscription = joinMulticast$({ provider: counted, record }).pipe(retry()).subscribe();
    expect(provider.joins).toHaveLength(6);
    expect(mostAlive).toBe(1);
    subscription.unsubscribe();
    expect(provider.joins.map((join) => join.frees)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('tells a failing free to diagnostics only', () => {
    const { messages, stop } = listen('rx-ib-multicast:leave-failed');
    stops.push(stop);
    const error = new Error('cannot leave');
    const provider = manualProvider(undefined, {
      freeMulticast: () => {
        throw error;
      },
    });
    const { log, observer } = recording();
    const subscription = joinMulticast$({ provider, record }).subscribe(observer);
    provider.joins[0]?.joined();
    expect(() => {
      subscription.unsubscribe();
    }).not.toThrow();
    expect(log).toEqual(['joined']);
    expect(messages).toMatchObject([{ provider: 'manual', mgid: MGID, error }]);
  });

  it('tells a leave that rejects to diagnostics, and leaves no rejection unhandled', async () => {
    const { messages, stop } = listen('rx-ib-multicast:leave-failed');
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const provider = manualProvider(undefined, {
      freeMulticast: () => Promise.reject(new Error('stuck')) as never,
    });
    joinMulticast$({ provider, record }).subscribe().unsubscribe();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    stop();
    expect(messages).toMatchObject([{ provider: 'manual', error: { message: 'stuck' } }]);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('frees when an operator throws', () => {
    const provider = manualProvider();
    const { errors, observer } = recording();
    joinMulticast$({ provider, record })
      .pipe(
        tap(() => {
          throw new Error('in a projection');
        }),
      )
      .subscribe(observer);
    provider.joins[0]?.joined();
    expect(errors).toMatchObject([{ message: 'in a projection' }]);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('survives a throwing handler, and so do other memberships', () => {
    vi.useFakeTimers();
    const provider = manualProvider();
    const { log, observer } = recording();
    const throwing = joinMulticast$({ provider, record }).subscribe(() => {
      throw new Error('in a handler');
    });
    const other = joinMulticast$({ provider, record }).subscribe(observer);
    for (const join of provider.joins) join.joined();
    expect(log).toEqual(['joined']);
    expect(provider.alive()).toBe(2);
    expect(() => vi.runAllTimers()).toThrow('in a handler');
    throwing.unsubscribe();
    other.unsubscribe();
    expect(provider.alive()).toBe(0);
  });

  it('leaves no handle behind when a scheduler throws', () => {
    const provider = manualProvider();
    const { errors, observer } = recording();
    const scheduler = {
      now: () => 0,
      schedule: () => {
        throw new Error('no clock');
      },
    };
    joinMulticast$({ provider, record, scheduler }).subscribe(observer);
    expect(errors).toMatchObject([{ message: 'no clock' }]);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it.each<[unknown, ErrorConstructor, RegExp]>([
    [{ record: { mgid: 'nonsense' } }, TypeError, /^record\.mgid/],
    [{ record: { mgid: MGID, qkey: -1 } }, RangeError, /^record\.qkey/],
    [{ record: { mgid: MGID, nonsense: 1 } }, TypeError, /^record\.nonsense/],
    [{ record, nonsense: 1 }, TypeError, /^nonsense is no field of a join request; fields: pro/],
    [{ record, port: 0 }, RangeError, /^port is 0; expected an integer from 1 to 255/],
    [{ record, port: 1.5 }, RangeError, /^port/],
    [{ record, port: '1' }, TypeError, /^port/],
    [{ record, device: '' }, TypeError, /^device/],
    [{ record, joinTimeoutMs: 0 }, RangeError, /^joinTimeoutMs is 0; expected .*above 0/],
    [{ record, joinTimeoutMs: NaN }, RangeError, /^joinTimeoutMs/],
    [{ record, joinTimeoutMs: -1 }, RangeError, /^joinTimeoutMs/],
    [{ record, joinTimeoutMs: -Infinity }, RangeError, /^joinTimeoutMs/],
    [{ record, joinTimeoutMs: 2 ** 31 }, RangeError, /^joinTimeoutMs/],
    [{ record, joinTimeoutMs: '5s' }, TypeError, /^joinTimeoutMs/],
    [{ record, componentMask: 5 }, TypeError, /^componentMask/],
    [{ record, componentMask: 1n << 18n }, RangeError, /^componentMask/],
    [{ record, componentMask: -1n }, RangeError, /^componentMask/],
    [{ record, scheduler: {} }, TypeError, /^scheduler/],
    [{ record, provider: {} }, TypeError, /^provider .*joinMulticast and freeMulticast/],
    [{ record, provider: null }, TypeError, /^provider/],
    [{ record, client: {} }, TypeError, /^client/],
    [{ record, group: '239.1.2.3' }, TypeError, /group and record\.mgid/],
    [{ group: 'nonsense' }, TypeError, /^group: /],
    [{ group: '10.0.0.1' }, RangeError, /^group: /],
    [{ record: {} }, TypeError, /neither record\.mgid nor group/],
    [{}, TypeError, /neither record\.mgid nor group/],
    [undefined, TypeError, /^the request is undefined/],
    [null, TypeError, /^the request is null/],
  ])('gives misuse bare: %o', (request, type, message) => {
    const provider = manualProvider();
    const given =
      typeof request === 'object' && request !== null && !('provider' in request)
        ? { ...('client' in request ? {} : { provider }), ...request }
        : request;
    const { log, errors, observer } = recording();
    joinMulticast$(given as JoinRequest).subscribe(observer);
    expect(log).toEqual(['E']);
    expect(errors[0]).toBeInstanceOf(type);
    expect(errors[0]).toMatchObject({ message: expect.stringMatching(message) as string });
    expect(provider.joins).toHaveLength(0);
  });

  it('refuses a P_Key without a base beside a group', () => {
    const provider = manualProvider();
    for (const pkey of [0, 0x8000]) {
      const { log, errors, observer } = recording();
      joinMulticast$({ provider, group: '239.1.2.3', record: { pkey } }).subscribe(observer);
      expect(log).toEqual(['E']);
      expect(errors[0]).toBeInstanceOf(RangeError);
      expect((errors[0] as Error).message).toContain('except 0x8000');
    }
    expect(provider.joins).toHaveLength(0);
  });

  it('says what to do about an IP address as MGID, and about a factory that is async', () => {
    const messages: string[] = [];
    const observer = { error: (error: unknown) => messages.push((error as Error).message) };
    joinMulticast$({ record: { mgid: '239.1.2.3' } }).subscribe(observer);
    joinMulticast$((() => Promise.reject(new Error('late'))) as never).subscribe(observer);
    expect(messages).toEqual([
      "record.mgid: '239.1.2.3' is an IP address and no MGID; for an IP address use 'group' in place of record.mgid",
      'the request is a Promise; expected a request (await first, then join)',
    ]);
  });

  it('takes one argument, and the index of map for none', () => {
    const join = joinMulticast$ as (request: JoinRequest, ...more: unknown[]) => unknown;
    expect(() => join({ record }, { joinTimeoutMs: 5 })).toThrow(
      'joinMulticast$ takes one argument, the request',
    );
    expect(() => [{ record }, { record }].map(joinMulticast$)).not.toThrow();
  });

  it('gives what a factory throws, bare', () => {
    const thrown = new Error('no request today');
    const { log, errors, observer } = recording();
    joinMulticast$(() => {
      throw thrown;
    }).subscribe(observer);
    expect(log).toEqual(['E']);
    expect(errors).toEqual([thrown]);
  });

  it('asks the provider for the port and puts it on the request', () => {
    const provider = manualProvider(undefined, {
      resolvePort: ({ device = 'first', port = 7 }) => ({ device, port }),
    });
    joinMulticast$({ provider, record }).subscribe().unsubscribe();
    joinMulticast$({ provider, record, device: 'mine' }).subscribe().unsubscribe();
    expect(provider.joins.map(({ request: { device, port } }) => [device, port])).toEqual([
      ['first', 7],
      ['mine', 7],
    ]);
  });

  it('gives a port that cannot be chosen as an event', () => {
    const error = new MulticastError('no active port', { status: -11 });
    const provider = manualProvider(undefined, {
      resolvePort: () => {
        throw error;
      },
    });
    const { log, events, errors, observer } = recording();
    joinMulticast$({ provider, record, context: 5 }).subscribe(observer);
    expect(log).toEqual(['error', 'E']);
    expect(errors).toEqual([error]);
    expect(events[0]).toMatchObject({ context: 5, request: { provider } });
    expect(provider.joins).toHaveLength(0);
  });

  it.each([
    ['of', of(1)],
    ['never', NEVER],
  ])('frees when a consumer switches away (%s)', (_, inner$) => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    const subscription = defer(() => joinMulticast$({ provider, record }))
      .pipe(
        mergeMap(() => inner$),
        concatMap(() => EMPTY),
      )
      .subscribe();
    subscription.unsubscribe();
    expect(provider.alive()).toBe(0);
  });
});
