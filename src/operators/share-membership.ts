import { asyncScheduler, EMPTY, Observable, share } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import { checkDuration, checkScheduler } from '../observable/time-options.js';
import { startTimer } from '../observable/timers.js';
import { MembershipSubject } from './membership-subject.js';
import { checkOperatorOptions } from './operator-options.js';

/** How long a shared membership outlives its last subscriber. */
export interface ShareMembershipOptions {
  /**
   * Milliseconds after the last subscriber went until the group is left. Default 0: at once, in the
   * same call. `Infinity`: never while the membership stands.
   */
  lingerMs?: number | undefined;
  /** Measures `lingerMs`. Default `asyncScheduler`. */
  scheduler?: SchedulerLike | undefined;
}

/**
 * One join for many subscribers. A late subscriber gets the current `joined` at once, and never one
 * of a membership that was lost. A subscriber that comes within `lingerMs` keeps the membership.
 *
 * After a failure the next subscriber makes a new join, so that `retry` and `rejoinOnReset` work on
 * either side.
 *
 * @throws TypeError or RangeError for options that are not as documented.
 */
export function shareMembership(
  options: ShareMembershipOptions = {},
): <E extends MulticastEvent<unknown>>(source: Observable<E>) => Observable<E> {
  checkOperatorOptions('shareMembership', options, ['lingerMs', 'scheduler']);
  const lingerMs = checkDuration('lingerMs', options.lingerMs, {
    byDefault: 0,
    zero: true,
    infinity: true,
  });
  const scheduler = checkScheduler(options.scheduler, asyncScheduler);
  const lingered$ = new Observable<void>((waiting) =>
    startTimer(scheduler, lingerMs, () => {
      waiting.next();
    }),
  );
  return <E extends MulticastEvent<unknown>>(source: Observable<E>) => {
    let current = new MembershipSubject<E>();
    return source.pipe(
      share({
        connector: () => (current = new MembershipSubject<E>()),
        resetOnRefCountZero:
          lingerMs === 0
            ? true
            : lingerMs === Infinity
              ? false
              : // `share` also asks after a failure, when nothing is left that could linger.
                () => (current.ended ? EMPTY : lingered$),
        resetOnError: true,
        resetOnComplete: true,
      }),
    );
  };
}
