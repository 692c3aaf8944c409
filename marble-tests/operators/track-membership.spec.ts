import { EMPTY, map, NEVER, of, take } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { trackMembership } from '../../src/operators/track-membership.js';
import type { MembershipState } from '../../src/operators/track-membership.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';

const MGID = 'ff12::1';
const record = { mgid: MGID };

/** A state in one word, for diagrams: its name, attempts, time of entry and last error. */
function word(state: MembershipState): string {
  const code = state.lastError === undefined ? '' : ` ${state.lastError.code}`;
  return `${state.state} ${String(state.attempts)} @${String(state.since)}${code}`;
}

describe('trackMembership', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  it('follows a membership through an outage to its failure', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: ['--j--r', '-t', '-j--r', { sync: 'd' }],
      });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ initialDelayMs: 2, jitter: 0 }),
        trackMembership(),
        map(word),
      );
      // Lost at 5, rejoined at 7 in vain, at 12 with success, lost at 16, rejoined at 24 in vain.
      helpers.expectObservable(source$).toBe(
        'a-b--c--d----e--f-------(gh#)',
        {
          a: 'joining 0 @0',
          b: 'member 0 @2',
          c: 'outage 0 @5 ENETRESET',
          d: 'outage 1 @5 ETIMEDOUT',
          e: 'member 1 @13 ETIMEDOUT',
          f: 'outage 0 @16 ENETRESET',
          g: 'outage 1 @16 ENODEV',
          h: 'failed 1 @24 ENODEV',
        },
        'ENODEV',
      );
    });
  });

  it('stays joining until the first membership', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-t', '-j'] });
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoinOnReset({ initialDelayMs: 2, jitter: 0, retryInitial: true }),
        trackMembership(),
        map(word),
      );
      helpers.expectObservable(source$, '^------!').toBe('ab--c', {
        a: 'joining 0 @0',
        b: 'joining 1 @0 ETIMEDOUT',
        c: 'member 1 @4 ETIMEDOUT',
      });
    });
  });

  it('carries record and context', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [{ sync: 'jr' }] });
      const seen: MembershipState<string>[] = [];
      joinMulticast$({ provider, record, context: 'c' })
        .pipe(trackMembership({ scheduler }))
        .subscribe({ next: (state) => seen.push(state), error: () => undefined });
      expect(seen).toMatchObject([
        { state: 'joining' },
        { state: 'member', context: 'c', record: { mgid: MGID } },
        { state: 'outage', context: 'c', record: { mgid: MGID }, lastError: { code: 'ENETRESET' } },
        { state: 'failed', context: 'c', record: { mgid: MGID }, error: { code: 'ENETRESET' } },
      ]);
      expect(seen[0]).not.toHaveProperty('context');
    });
  });

  it('gives misuse as failed, then as the error', () => {
    scheduler.run((helpers) => {
      const source$ = joinMulticast$({ record: { mgid: '?' } }).pipe(
        trackMembership(),
        map((state) => state.state),
      );
      helpers.expectObservable(source$).toBe('(xy#)', { x: 'joining', y: 'failed' }, 'TypeError');
    });
  });

  it('frees at an early unsubscription and with take', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j', { sync: 'j' }] });
      const source$ = joinMulticast$({ provider, record }).pipe(
        trackMembership(),
        map((state) => state.state),
      );
      helpers.expectObservable(source$, '^--!').toBe('ab', { a: 'joining', b: 'member' });
      helpers.expectObservable(source$.pipe(take(2))).toBe('(ab|)', { a: 'joining', b: 'member' });
      helpers.expectObservable(source$.pipe(take(1))).toBe('(a|)', { a: 'joining' });
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^--!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('(^!)');
    });
  });

  it('passes never and empty', () => {
    scheduler.run((helpers) => {
      const states = (source$: Observable<never>): Observable<string> =>
        (source$ as Observable<MulticastEvent<unknown>>).pipe(
          trackMembership(),
          map((state) => state.state),
        );
      helpers.expectObservable(states(NEVER)).toBe('a', { a: 'joining' });
      helpers.expectObservable(states(EMPTY)).toBe('(a|)', { a: 'joining' });
    });
  });

  it('passes the error of a projection behind it to nobody but the consumer', () => {
    scheduler.run((helpers) => {
      const throwing$ = of({ type: 'joined' } as MulticastEvent<unknown>).pipe(
        trackMembership(),
        map(() => {
          throw new Error('projection');
        }),
      );
      helpers.expectObservable(throwing$).toBe('#', undefined, 'projection');
    });
  });

  it('checks its options', () => {
    expect(() => trackMembership({ scheduler: {} as never })).toThrow(TypeError);
  });
});
