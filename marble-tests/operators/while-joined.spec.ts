import { EMPTY, finalize, interval, map, merge, NEVER, of, take, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { whileJoined } from '../../src/operators/while-joined.js';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import { manualProvider } from '../observable/manual-provider.js';

const MGID = 'ff12::1';
const record = { mgid: MGID };
const rejoin = rejoinOnReset({ initialDelayMs: 2, jitter: 0 });

describe('whileJoined', () => {
  let scheduler: TestScheduler;
  beforeEach(() => {
    scheduler = new TestScheduler(marbleEqual);
  });

  it('runs the inner stream from joined to reset, and a new one after the rejoin', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j----r', '-j'] });
      const inner$ = helpers.cold('                        x-y-z-w');
      const inner1 = '                                    -^----!------';
      const inner2 = '                                    ---------^--!';
      const result = '                                    -x-y-z---x-y-';
      const until = '                                     ^-----------!';
      const source$ = joinMulticast$({ provider, record }).pipe(
        rejoin,
        whileJoined(() => inner$),
      );
      helpers.expectObservable(source$, until).toBe(result);
      helpers.expectSubscriptions(inner$.subscriptions).toBe([inner1, inner2]);
    });
  });

  it('ends the inner stream when the source fails', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j--r'] });
      const inner$ = helpers.cold('                        xxxxxxx');
      const result = '                                    -xxx#';
      const inner = '                                     -^--!';
      const source$ = joinMulticast$({ provider, record }).pipe(whileJoined(() => inner$));
      helpers.expectObservable(source$).toBe(result, undefined, 'ENETRESET');
      helpers.expectSubscriptions(inner$.subscriptions).toBe(inner);
    });
  });

  it('ends the inner stream when the source completes', () => {
    scheduler.run((helpers) => {
      const events = { j: { type: 'joined' } as never };
      const source$ = helpers.cold<never>('-j---|', events);
      const result = '                     -x-x-|';
      const inner$ = helpers.cold('         x-x-x-x');
      const inner = '                      -^---!';
      helpers.expectObservable(source$.pipe(whileJoined(() => inner$))).toBe(result);
      helpers.expectSubscriptions(inner$.subscriptions).toBe(inner);
    });
  });

  it('stays a member when the inner stream completes', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j'] });
      const source$ = joinMulticast$({ provider, record }).pipe(whileJoined(() => of('x', 'y')));
      helpers.expectObservable(source$, '^-----!').toBe('-(xy)');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^-----!');
    });
  });

  it('fails and frees when the inner stream fails or project throws', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j', '--j'] });
      const failing$ = joinMulticast$({ provider, record }).pipe(
        rejoin,
        whileJoined(() => throwError(() => new Error('inner'))),
      );
      const throwing$ = joinMulticast$({ provider, record }).pipe(
        rejoin,
        whileJoined(() => {
          throw new Error('project');
        }),
      );
      helpers.expectObservable(failing$).toBe(' -#', undefined, 'inner');
      helpers.expectObservable(throwing$).toBe('--#', undefined, 'project');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^!');
      helpers.expectSubscriptions(provider.spans(MGID, 1)).toBe('^-!');
    });
  });

  it('frees both at an early unsubscription', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j'] });
      const source$ = joinMulticast$({ provider, record, context: 'c' }).pipe(
        whileJoined((joined) => interval(2).pipe(map((n) => `${joined.context}${String(n)}`))),
      );
      helpers.expectObservable(source$, '^-----!').toBe('---x-y', { x: 'c0', y: 'c1' });
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^-----!');
    });
  });

  it('passes never and empty, and gives nothing before joined', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [''] });
      const project = whileJoined(() => of('x'));
      helpers.expectObservable(NEVER.pipe(project)).toBe('-');
      helpers.expectObservable(EMPTY.pipe(project)).toBe('|');
      helpers
        .expectObservable(joinMulticast$({ provider, record }).pipe(project), '^---!')
        .toBe('----');
    });
  });

  it('works on a source that joins and resets on the stack', () => {
    scheduler.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: [{ sync: 'jr' }] });
      const source$ = joinMulticast$({ provider, record }).pipe(whileJoined(() => of('x')));
      helpers.expectObservable(source$).toBe('(x#)', undefined, 'ENETRESET');
      expect(provider.handlesAlive).toBe(0);
    });
  });

  it('ends the inner stream before the group is left, at unsubscription', () => {
    const order: string[] = [];
    const provider = manualProvider(
      (join) => {
        join.joined();
      },
      { freeMulticast: () => order.push('left') },
    );
    const source$ = joinMulticast$({ provider, record });
    const sender$ = NEVER.pipe(finalize(() => order.push('inner ended')));
    const subscription = source$
      .pipe(
        rejoin,
        whileJoined(() => sender$),
      )
      .subscribe();
    subscription.unsubscribe();
    expect(order).toEqual(['inner ended', 'left']);
    // Likewise when an operator behind it has enough.
    const once$ = merge(sender$, of('x'));
    source$
      .pipe(
        whileJoined(() => once$),
        take(1),
      )
      .subscribe();
    expect(order).toEqual(['inner ended', 'left', 'inner ended', 'left']);
  });

  it('wants a function, and to be called', () => {
    const source$ = NEVER as Observable<MulticastEvent>;
    expect(() => source$.pipe(whileJoined as never)).toThrow(
      'whileJoined was given an Observable; write .pipe(whileJoined(project))',
    );
    expect(() => whileJoined(source$ as never)).toThrow(TypeError);
    expect(() => whileJoined(5 as never)).toThrow('project is 5; expected a function');
  });
});
