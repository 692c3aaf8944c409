import { asyncScheduler, Observable } from 'rxjs';
import type { Observer, SchedulerLike, Subscriber, Unsubscribable } from 'rxjs';
import type { LifecycleEvent } from '../contract/event.js';
import { MulticastError } from '../errors/multicast-error.js';
import { RejoinChain } from '../observable/rejoin-chain.js';
import { checkDuration, checkScheduler } from '../observable/time-options.js';
import { startTimer } from '../observable/timers.js';
import { checkOperatorOptions } from './operator-options.js';
import { shown } from '../errors/shown.js';

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

type CheckedPolicy = { [K in keyof RejoinPolicy]-?: NonNullable<RejoinPolicy[K]> };

function fraction(name: string, value: number): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} is ${shown(value)}; expected a number from 0 to 1`);
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
  const { random = Math.random, retryInitial = false, jitter = 0.5 } = policy;
  if (typeof random !== 'function') {
    throw new TypeError(`random is ${shown(random)}; expected a function`);
  }
  if (typeof retryInitial !== 'boolean') {
    throw new TypeError(`retryInitial is ${shown(retryInitial)}; expected true or false`);
  }
  // A delay is a timer and so has an end; the other durations are only compared with.
  const delay = (name: 'initialDelayMs' | 'maxDelayMs', byDefault: number): number =>
    checkDuration(name, policy[name], { byDefault, zero: true, infinity: false });
  const span = (name: 'graceMs' | 'stableMs' | 'maxOutageMs', byDefault: number): number =>
    checkDuration(name, policy[name], { byDefault, zero: true, infinity: true });
  return {
    initialDelayMs: delay('initialDelayMs', 1_000),
    maxDelayMs: delay('maxDelayMs', 16_000),
    jitter: fraction('jitter', jitter),
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

  get scheduler(): SchedulerLike {
    return this.#policy.scheduler;
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
      // A provider may have thrown one that is frozen; it is still the one to end with.
      Reflect.set(error, 'attempts', this.#outage.attempts);
      Reflect.set(error, 'outageMs', now - this.#outage.since);
    }
    return error;
  }
}

/** One subscription: at any time an attempt, or a timer for the next one. */
class Rejoining<E extends LifecycleEvent> implements Observer<E>, Unsubscribable {
  readonly #subscriber: Subscriber<E>;
  readonly #clock: OutageClock;
  readonly #chain = new RejoinChain();
  readonly #source: Observable<E>;
  #attempt: Subscriber<E> | undefined;
  #timer: Unsubscribable | undefined;
  #subscribing = false;
  #due = false;
  /** How many timers there have been. */
  #timers = 0;

  constructor(subscriber: Subscriber<E>, source: Observable<E>, policy: CheckedPolicy) {
    this.#subscriber = subscriber;
    this.#source = source;
    this.#clock = new OutageClock(policy);
  }

  join(): void {
    // A scheduler may run the timer of a failing join at once; the loop then takes the next turn,
    // since `retry` and every other form of recursion would pile the attempts up on the stack.
    this.#due = true;
    if (this.#subscribing) return;
    this.#subscribing = true;
    try {
      while (this.#due && !this.#subscriber.closed) {
        this.#due = false;
        // Made for each attempt, since what is there for as long as the membership costs more.
        new Observable<E>((attempt) => {
          // Noted before it is under way, so that what it emits at once can end it.
          this.#attempt = attempt;
          return this.#chain.run(() => this.#source.subscribe(attempt));
        }).subscribe(this);
      }
    } finally {
      // RxJS may be told to throw what consumers throw; that is not the end of the stream.
      this.#subscribing = false;
    }
  }

  // What an attempt tells.

  next(event: E): void {
    try {
      if (event.type === 'joined') this.#clock.joined();
      this.#chain.observe(event);
    } catch (thrown) {
      this.#attempt?.unsubscribe();
      this.#subscriber.error(thrown);
      return;
    }
    this.#subscriber.next(event);
  }

  error(error: unknown): void {
    // All of the attempt is over before the next one is thought of.
    this.#attempt?.unsubscribe();
    try {
      this.#wait(this.#clock.failed(error));
    } catch (told) {
      this.#subscriber.error(told);
    }
  }

  #wait(delay: number): void {
    if (this.#subscriber.closed) return;
    const number = (this.#timers += 1);
    const timer = startTimer(this.#clock.scheduler, delay, () => {
      this.#timer = undefined;
      this.join();
    });
    // A scheduler may have run it at once, and then there may be a later one.
    if (number === this.#timers) this.#timer = timer;
    if (this.#subscriber.closed) timer.unsubscribe();
  }

  complete(): void {
    this.#subscriber.complete();
  }

  /** The teardown of the subscription. */
  unsubscribe(): void {
    this.#timer?.unsubscribe();
    this.#attempt?.unsubscribe();
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
      const rejoining = new Rejoining(subscriber, source, checked);
      subscriber.add(rejoining);
      rejoining.join();
    });
}
