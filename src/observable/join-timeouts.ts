import { asyncScheduler } from 'rxjs';
import type { SchedulerLike, Subscription, Unsubscribable } from 'rxjs';

/** A join that has so and so long. */
class Limit implements Unsubscribable {
  readonly since = performance.now();

  constructor(
    readonly line: Line,
    readonly expire: () => void,
  ) {}

  unsubscribe(): void {
    this.line.leave(this);
  }
}

/**
 * All joins that have the same time. They end in the order in which they began, so that one timer
 * serves them all: a thousand joins made in one go would otherwise spend more on their timers than on
 * anything else.
 */
class Line {
  readonly #limits = new Set<Limit>();
  #timer: Subscription | undefined;

  constructor(readonly milliseconds: number) {}

  enter(expire: () => void): Limit {
    const limit = new Limit(this, expire);
    this.#limits.add(limit);
    if (this.#timer === undefined) this.#await(limit, this.milliseconds);
    return limit;
  }

  leave(limit: Limit): void {
    this.#limits.delete(limit);
    if (this.#limits.size > 0) return;
    // A timer that nobody needs would keep the process alive.
    this.#timer?.unsubscribe();
    this.#timer = undefined;
    lines.delete(this.milliseconds);
  }

  #await(limit: Limit, milliseconds: number): void {
    lines.set(this.milliseconds, this);
    this.#timer = asyncScheduler.schedule(() => {
      this.#ended(limit);
    }, milliseconds);
  }

  /** The time of `limit` is over, and that of those behind it as much later as they came later. */
  #ended(limit: Limit): void {
    this.#timer = undefined;
    const now = performance.now();
    const over: Limit[] = [];
    let last = limit;
    for (const next of this.#limits) {
      // What is over by the clock is, too; but no clock may put off more than lies between the two.
      const rest = Math.min(next.since + this.milliseconds - now, next.since - last.since);
      if (rest > 0) {
        this.#await(next, rest);
        break;
      }
      over.push(next);
      last = next;
    }
    // One that ends may take others with it, whose time is over as well.
    for (const one of over) if (this.#limits.delete(one)) one.expire();
    if (this.#limits.size === 0) lines.delete(this.milliseconds);
  }
}

const lines = new Map<number, Line>();

/**
 * Calls `expire` after so many milliseconds, unless what is returned is unsubscribed from.
 *
 * @param scheduler Whose time it is; with the default one, timers are shared.
 */
export function startTimeout(
  scheduler: SchedulerLike,
  milliseconds: number,
  expire: () => void,
): Unsubscribable {
  if (scheduler !== asyncScheduler) return scheduler.schedule(expire, milliseconds);
  const line = lines.get(milliseconds) ?? new Line(milliseconds);
  return line.enter(expire);
}
