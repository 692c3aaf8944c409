import { inspect } from 'node:util';
import { asyncScheduler, catchError, map, Observable, Subject, takeUntil, tap, timer } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import type { LifecycleEvent } from '../contract/event.js';
import { MulticastError } from '../errors/multicast-error.js';
import { RejoinChain } from '../observable/rejoin-chain.js';
import { checkDuration, checkScheduler } from '../observable/time-options.js';
import { checkOperatorOptions } from './operator-options.js';

/** When to join again after a failure, and when to give up. Durations are milliseconds. */
export interface RejoinPolicy {
  /** Delay before the first rejoin of an outage, then doubled. Default 1000; 0 rejoins at once. */
  initialDelayMs?: number | undefined;
  /** Upper limit of the delay. Default 16000. */
  maxDelayMs?: number | undefined;
  /** From 0 to 1. Delay k is min(max, initial * 2^k) * (1 - jitter * random()). Default 0.5. */
  jitter?: number | undefined;
  /** For so long after the latest reset EINVAL is retried. Default 30000; `Infinity`: always. */
  graceMs?: number | undefined;
  /**
   * Joined for so long ends the outage, and renews backoff and outage clock. Default 10000;
   * 0: any `joined` does; `Infinity`: nothing does.
   */
  stableMs?: number | undefined;
  /**
   * Gives up when a failure arrives and now plus the next delay is later in the outage than this.
   * It never ends an attempt that is pending or joined. Default `Infinity`; 0: no rejoin with a delay.
   */
  maxOutageMs?: number | undefined;
  /** Whether retryable failures before the first `joined` are retried as well. Default false. */
  retryInitial?: boolean | undefined;
  /** From 0 to 1; anything else ends the stream with a RangeError. Default `Math.random`. */
  random?: (() => number) | undefined;
  /** Default `asyncScheduler`. */
  scheduler?: SchedulerLike | undefined;
}

/** Takes the place of a failure when the time for the next attempt has come. */
const AGAIN = Symbol('again');

type CheckedPolicy = { [K in keyof RejoinPolicy]-?: NonNullable<RejoinPolicy[K]> };

function fraction(name: string, value: number): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} is ${inspect(value)}; expected a number from 0 to 1`);
  }
  if (!(value >= 0 && value <= 1)) {
    throw new RangeError(`${name} is ${String(value)}; expected a number from 0 to 1`);
  }
  return value;
}

const POLICY: readonly string[] = [
  'initialDelayMs',
  'maxDelayMs',
  'jitter',
  'graceMs',
  'stableMs',
  'maxOutageMs',
  'retryInitial',
  'random',
  'scheduler',
] satisfies readonly (keyof RejoinPolicy)[];

function checkPolicy(policy: RejoinPolicy): CheckedPolicy {
  checkOperatorOptions('rejoinOnReset', policy, POLICY);
  const { random = Math.random, retryInitial = false } = policy;
  if (typeof random !== 'function') {
    throw new TypeError(`random is ${inspect(random)}; expected a function`);
  }
  if (typeof retryInitial !== 'boolean') {
    throw new TypeError(`retryInitial is ${inspect(retryInitial)}; expected true or false`);
  }
  // A delay is a timer and so has an end; the other durations are only compared with.
  const delay = (name: 'initialDelayMs' | 'maxDelayMs', byDefault: number): number =>
    checkDuration(name, policy[name], { byDefault, zero: true, infinity: false });
  const span = (name: 'graceMs' | 'stableMs' | 'maxOutageMs', byDefault: number): number =>
    checkDuration(name, policy[name], { byDefault, zero: true, infinity: true });
  return {
    initialDelayMs: delay('initialDelayMs', 1_000),
    maxDelayMs: delay('maxDelayMs', 16_000),
    jitter: fraction('jitter', policy.jitter ?? 0.5),
    graceMs: span('graceMs', 30_000),
    stableMs: span('stableMs', 10_000),
    maxOutageMs: span('maxOutageMs', Infinity),
    retryInitial,
    random,
    scheduler: checkScheduler(policy.scheduler, asyncScheduler),
  };
}

/** What one subscription remembers from one attempt to the next. */
class OutageClock {
  readonly #policy: CheckedPolicy;
  #everJoined = false;
  /** When the attempt under way was joined. */
  #joinedAt: number | undefined;
  #latestResetAt: number | undefined;
  /** `attempts` counts the joins started in the outage, `rejoins` those of them that were a rejoin. */
  #outage: { readonly since: number; attempts: number; rejoins: number } | undefined;

  constructor(policy: CheckedPolicy) {
    this.#policy = policy;
  }

  joined(): void {
    this.#everJoined = true;
    this.#joinedAt = this.#policy.scheduler.now();
  }

  /** The delay before the next attempt, for a failure worth one; otherwise throws what is to be told. */
  failed(error: unknown): number {
    const { graceMs, stableMs, maxOutageMs, retryInitial, scheduler } = this.#policy;
    const now = scheduler.now();
    const joinedAt = this.#joinedAt;
    this.#joinedAt = undefined;
    // Nothing needs to happen at the instant at which the outage ends, so it takes no timer.
    if (joinedAt !== undefined && now - joinedAt >= stableMs) this.#outage = undefined;
    if (!(error instanceof MulticastError)) throw error;
    if (error.code === 'ENETRESET') this.#latestResetAt = now;
    const inGrace =
      error.code === 'EINVAL' &&
      this.#latestResetAt !== undefined &&
      now - this.#latestResetAt <= graceMs;
    const open = this.#everJoined || retryInitial;
    if (!open || !(error.retryable || inGrace)) throw this.#givenUp(error, now);
    this.#outage ??= { since: now, attempts: this.#everJoined ? 0 : 1, rejoins: 0 };
    const delay = this.#delay(this.#outage.rejoins);
    if (now + delay - this.#outage.since > maxOutageMs) throw this.#givenUp(error, now);
    this.#outage.rejoins += 1;
    this.#outage.attempts += 1;
    return delay;
  }

  #delay(k: number): number {
    const { initialDelayMs, maxDelayMs, jitter, random } = this.#policy;
    const full = Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(k, 64));
    return full * (1 - jitter * fraction('random()', random()));
  }

  #givenUp(error: MulticastError, now: number): MulticastError {
    if (this.#outage !== undefined) {
      error.attempts = this.#outage.attempts;
      error.outageMs = now - this.#outage.since;
    }
    return error;
  }
}

/**
 * Joins again after a reset, and after the failures that commonly follow one, with a growing delay.
 *
 * A retryable failure after the first `joined` opens an outage or continues it; EINVAL is retried
 * within `graceMs` of the latest reset. The outage ends only when a membership has been stable for
 * `stableMs`. All values of every attempt pass through. Giving up rethrows the last error with
 * `attempts` and `outageMs`. Errors that are no MulticastError pass at once.
 *
 * Later attempts use the provider, device and port of the first membership.
 *
 * @throws TypeError or RangeError for a policy that is not as documented.
 */
export function rejoinOnReset(
  policy: RejoinPolicy = {},
): <E extends LifecycleEvent>(source: Observable<E>) => Observable<E> {
  const checked = checkPolicy(policy);
  return <E extends LifecycleEvent>(source: Observable<E>) =>
    new Observable<E>((subscriber) => {
      const clock = new OutageClock(checked);
      const chain = new RejoinChain();
      const unsubscribed$ = new Subject<void>();
      subscriber.add(() => {
        unsubscribed$.next();
      });
      const chained$ = new Observable<E>((attempt) => chain.run(() => source.subscribe(attempt)));
      const attempt$ = chained$.pipe(
        tap((event) => {
          if (event.type === 'joined') clock.joined();
          chain.observe(event);
        }),
        catchError((error: unknown) =>
          timer(clock.failed(error), checked.scheduler).pipe(map((): typeof AGAIN => AGAIN)),
        ),
        takeUntil(unsubscribed$),
      );

      let subscribing = false;
      let due = false;
      const join = (): void => {
        // A scheduler may run the timer of a failing join at once; the loop then takes the next turn,
        // since `retry` and every other form of recursion would pile the attempts up on the stack.
        due = true;
        if (subscribing) return;
        subscribing = true;
        while (due && !subscriber.closed) {
          due = false;
          joinOnce();
        }
        subscribing = false;
      };
      const joinOnce = (): void => {
        let ended = true;
        attempt$.subscribe({
          next: (event) => {
            if (event !== AGAIN) {
              subscriber.next(event);
              return;
            }
            ended = false;
            join();
          },
          error: (error: unknown) => {
            subscriber.error(error);
          },
          complete: () => {
            if (ended) subscriber.complete();
          },
        });
      };
      join();
    });
}
