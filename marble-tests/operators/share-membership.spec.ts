import {
  delay,
  EMPTY,
  NEVER,
  of,
  retry,
  Subject,
  Subscription,
  take,
  throwError,
  VirtualTimeScheduler,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { shareMembership } from '../../src/operators/share-membership.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import { manualProvider } from '../observable/manual-provider.js';

const MGID = 'ff12::1';
const record = { mgid: MGID };
const rejoin = rejoinOnReset({ initialDelayMs: 2, jitter: 0 });

describe('shareMembership', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  it('joins once, tells a late subscriber the current joined, leaves with the last', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [' --j'] });
      const until1 = '                                      ^-----!';
      const result1 = '                                     --j----';
      const until2 = '                                      ---^-----!';
      const result2 = '                                     ---j------';
      const until3 = '                                      -^-!';
      const result3 = '                                     --j-';
      const span = '                                        ^--------!';
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
      helpers.expectObservable(shared$, until1).toBe(result1);
      helpers.expectObservable(shared$, until2).toBe(result2);
      helpers.expectObservable(shared$, until3).toBe(result3);
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe(span);
    });
  });

  it('shows nobody a joined that is no more', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j-r', '---j'] });
      const first = '                                     -j-r----j';
      const late = '                                      --------j';
      const untilFirst = '                                ^----------!';
      const untilLate = '                                 ----^------!';
      const shared$ = joinMulticast$({ provider, record }).pipe(rejoin, shareMembership());
      helpers.expectObservable(shared$, untilFirst).toBe(first);
      helpers.expectObservable(shared$, untilLate).toBe(late);
    });
  });

  it('gives a failure to all, and the next subscriber a new join', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['--t', '-j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership({ lingerMs: 5 }));
      helpers.expectObservable(shared$).toBe('           --(t#)', undefined, 'ETIMEDOUT');
      helpers.expectObservable(shared$, '-^').toBe('     --(t#)', undefined, 'ETIMEDOUT');
      helpers.expectObservable(shared$, '---^--!').toBe('----j--');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^-!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('---^-------!');
    });
  });

  it('lingers, and a subscriber in between keeps the membership', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j', '-j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership({ lingerMs: 4 }));
      helpers.expectObservable(shared$, '^--!             ').toBe('-j');
      helpers.expectObservable(shared$, '-----^--!        ').toBe('-----j');
      helpers.expectObservable(shared$, '-------------^--!').toBe('--------------j');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^-----------!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('-------------^------!');
    });
  });

  it('keeps the membership for good when it lingers for ever', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(
        shareMembership({ lingerMs: Infinity }),
      );
      helpers.expectObservable(shared$, '^--!').toBe('-j');
      helpers.expectObservable(shared$, '999s ^--!').toBe('999s j');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^---');
    });
  });

  it('forgets a membership that is lost while it lingers', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j--r', '-j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership({ lingerMs: 9 }));
      helpers.expectObservable(shared$, '^--!').toBe('      -j');
      helpers.expectObservable(shared$, '------^--!').toBe('-------j');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^---!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('------^-----------!');
    });
  });

  it('works with rejoinOnReset behind it, with one live handle at a time', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j-r', '--j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
      const slow = rejoinOnReset({ initialDelayMs: 5, jitter: 0 });
      helpers.expectObservable(shared$.pipe(rejoin), '^-----------!').toBe('-j-r---j');
      helpers.expectObservable(shared$.pipe(slow), '  ^-----------!').toBe('-j-r----j');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('            ^--!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('            -----^------!');
    });
  });

  it('works with a retry at once behind it', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j-r', '-j'] });
      const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
      helpers.expectObservable(shared$.pipe(retry(1)), '^-----!').toBe('-j-rj');
      helpers.expectObservable(shared$.pipe(retry(1)), '^-----!').toBe('-j-rj');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^--!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('---^--!');
    });
  });

  it('tells all of joined before what a joined handler provokes', () => {
    const provider = manualProvider();
    const log: string[] = [];
    const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
    const note =
      (name: string) =>
      (event: MulticastEvent<unknown>): void => {
        log.push(`${name} ${event.type}`);
      };
    shared$.subscribe({
      next: (event) => {
        note('a')(event);
        if (event.type !== 'joined') return;
        provider.joins[0]?.complete({ status: -102 });
        // One who comes now must see no joined: the membership is known to be lost.
        shared$.subscribe({ next: note('c'), error: () => log.push('c E') });
      },
      error: () => log.push('a E'),
    });
    shared$.subscribe({ next: note('b'), error: () => log.push('b E') });
    provider.joins[0]?.joined();
    expect(log).toEqual(['a joined', 'b joined', 'a reset', 'b reset', 'a E', 'b E']);
    expect(provider.joins).toHaveLength(2);
    expect(provider.joins[0]?.frees).toBe(1);
  });

  it('shows no joined that is followed by a loss still to be told', () => {
    const source$ = new Subject<MulticastEvent<unknown>>();
    const shared$ = source$.pipe(shareMembership());
    const [joined, reset] = ['joined', 'reset'].map((type) => ({ type }) as never);
    const log: string[] = [];
    const all = new Subscription();
    all.add(
      shared$.subscribe(({ type }) => {
        log.push(`a ${type}`);
        if (log.length === 1) {
          source$.next(joined as never);
          source$.next(reset as never);
        }
        if (type === 'joined') all.add(shared$.subscribe((late) => log.push(`b ${late.type}`)));
      }),
    );
    source$.next(reset as never);
    expect(log).toEqual(['a reset', 'a joined', 'a reset', 'b reset']);
    all.unsubscribe();
  });

  it('tells a subscriber that comes from a joined handler once', () => {
    const provider = manualProvider();
    const log: string[] = [];
    const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
    const first = shared$.subscribe(() => {
      log.push('a');
      shared$.pipe(take(1)).subscribe(() => log.push('b'));
    });
    provider.joins[0]?.joined();
    expect(log).toEqual(['a', 'b']);
    first.unsubscribe();
    expect(provider.joins.map((join) => join.frees)).toEqual([1]);
  });

  it('joins and frees on the stack', () => {
    const provider = manualProvider((join) => {
      join.joined();
    });
    const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
    const log: string[] = [];
    shared$.pipe(take(1)).subscribe({ next: () => log.push('j'), complete: () => log.push('C') });
    shared$.pipe(take(1)).subscribe({ next: () => log.push('j'), complete: () => log.push('C') });
    expect(log).toEqual(['j', 'C', 'j', 'C']);
    expect(provider.joins.map((join) => join.frees)).toEqual([1, 1]);
  });

  it('passes never, empty and errors, and completes late subscribers of the same source', () => {
    scheduler.run((helpers) => {
      type Events$ = Observable<MulticastEvent<unknown>>;
      helpers.expectObservable((NEVER as Events$).pipe(shareMembership())).toBe('-');
      helpers.expectObservable((EMPTY as Events$).pipe(shareMembership())).toBe('|');
      const failing$ = throwError(() => new Error('other')) as Events$;
      helpers.expectObservable(failing$.pipe(shareMembership())).toBe('#', undefined, 'other');
      const once$ = (of({ type: 'joined' }) as unknown as Events$).pipe(
        delay(2),
        shareMembership(),
      );
      helpers.expectObservable(once$).toBe('--(j|)', { j: 'joined' });
    });
  });

  it('keeps one join over reentrant resubscriptions', () => {
    const provider = manualProvider();
    const again$ = new Subject<void>();
    const shared$ = joinMulticast$({ provider, record }).pipe(shareMembership());
    const subscription = shared$.pipe(retry({ delay: () => again$ })).subscribe();
    const other = shared$.pipe(retry({ delay: () => again$ })).subscribe();
    for (let round = 0; round < 3; round += 1) {
      provider.joins.at(-1)?.joined();
      provider.joins.at(-1)?.complete({ status: -102 });
      expect(provider.alive()).toBe(0);
      again$.next();
      expect(provider.alive()).toBe(1);
    }
    subscription.unsubscribe();
    other.unsubscribe();
    expect(provider.joins.map((join) => join.frees)).toEqual([1, 1, 1, 1]);
  });

  it('keeps no timer after a failure', () => {
    const provider = manualProvider();
    const time = new VirtualTimeScheduler();
    const shared$ = joinMulticast$({ provider, record }).pipe(
      shareMembership({ lingerMs: 60_000, scheduler: time }),
    );
    const codes: unknown[] = [];
    const watch = (): Subscription =>
      shared$.subscribe({ error: (error: unknown) => codes.push((error as MulticastError).code) });
    watch();
    watch();
    provider.joins[0]?.joined();
    provider.joins[0]?.complete({ status: -102 });
    expect(codes).toEqual(['ENETRESET', 'ENETRESET']);
    expect(time.actions).toHaveLength(0);
    // The next membership lingers as usual, and none of the time before counts.
    watch().unsubscribe();
    expect(provider.alive()).toBe(1);
    time.flush();
    expect(time.now()).toBe(60_000);
    expect(provider.alive()).toBe(0);
  });

  it('checks its options', () => {
    for (const lingerMs of [-1, NaN, 2 ** 31]) {
      expect(() => shareMembership({ lingerMs })).toThrow(RangeError);
    }
    expect(() => shareMembership({ scheduler: {} as never })).toThrow(TypeError);
  });
});
