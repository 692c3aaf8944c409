import type { SchedulerLike } from 'rxjs';
import { shown } from '../errors/shown.js';

/** The longest delay of a timer in milliseconds; a Node timer beyond it fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Which durations an option accepts. */
export interface DurationRule {
  byDefault: number;
  /** Whether 0 is accepted. */
  zero: boolean;
  /** Whether `Infinity` is accepted. */
  infinity: boolean;
}

/**
 * A duration in milliseconds, or its default.
 *
 * @throws TypeError for what is no number, RangeError for NaN, negative values, finite values above
 * 2^31-1, and for 0 and Infinity where they are not accepted.
 */
export function checkDuration(name: string, value: number | undefined, rule: DurationRule): number {
  if (value === undefined) return rule.byDefault;
  const inRange =
    typeof value === 'number' &&
    (value === Infinity
      ? rule.infinity
      : value <= MAX_TIMER_MS && (rule.zero ? value >= 0 : value > 0));
  if (inRange) return value;
  const accepted = `expected milliseconds ${rule.zero ? 'from 0' : 'above 0'} to 2147483647${rule.infinity ? ', or Infinity' : ''}`;
  if (typeof value !== 'number') throw new TypeError(`${name} is ${shown(value)}; ${accepted}`);
  throw new RangeError(`${name} is ${String(value)}; ${accepted}`);
}

/**
 * A scheduler, or its default.
 *
 * @throws TypeError for what has no `schedule` or no `now`.
 */
export function checkScheduler(
  value: SchedulerLike | undefined,
  byDefault: SchedulerLike,
): SchedulerLike {
  if (value === undefined) return byDefault;
  if (typeof value?.schedule !== 'function' || typeof value.now !== 'function') {
    throw new TypeError(
      `scheduler is ${shown(value)}; expected an RxJS scheduler, with schedule and now`,
    );
  }
  return value;
}
