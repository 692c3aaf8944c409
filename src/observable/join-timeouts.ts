import { asyncScheduler } from 'rxjs';
import type { SchedulerLike, Subscription, Unsubscribable } from 'rxjs';

/** A join that has so and so long. */
class Limit implements Unsubscribable {
  constructor(
    readonly line: Line,
    readonly expire: () => void,
  ) {}

  unsubscribe(): void {
    this.line.leave(this);
  }
}

/**
 * Joins that were made in one go and have the same time. One timer serves them all: a thousand joins
 * would otherwise spend more on their timers than on anything else.
 */
class Line {
  readonly #limits = new Set<Limit>();
  #timer: Subscription;
  /** Whether its time is, or nobody waits for that any more. */
  over = false;

  constructor(
    /** By the scheduler's clock: that of a test may move while nothing else does. */
    readonly since: number,
    milliseconds: number,
  ) {
    this.#timer = this.#await(milliseconds, 1);
  }

  enter(expire: () => void): Limit {
    const limit = new Limit(this, expire);
    this.#limits.add(limit);
    return limit;
  }

  leave(limit: Limit): void {
    this.#limits.delete(limit);
    if (this.#limits.size > 0) return;
    // A timer that nobody needs would keep the process alive.
    this.over = true;
    this.#timer.unsubscribe();
  }

  #await(milliseconds: number, most: number): Subscription {
    return asyncScheduler.schedule(() => {
      this.#end(most);
    }, milliseconds);
  }

  #end(most: number): void {
    this.over = true;
    let ended = 0;
    try {
      // One that ends may take others with it, which are then no longer in the set.
      for (const limit of this.#limits) {
        if (ended === most) break;
        ended += 1;
        this.#limits.delete(limit);
        limit.expire();
      }
    } finally {
      // The timer was that of the first. Where time is virtual, what is to happen to the others at
      // this instant happens before their end, as it would with timers of their own. Nor may one
      // whose consumer throws keep the others from theirs.
      if (this.#limits.size > 0) this.#timer = this.#await(0, Infinity);
    }
  }
}

/**
 * The lines that joins can enter, by their time. Nothing is kept from one go to the next: what a test
 * with fake timers has left behind must not take in anybody else's join.
 */
const lines = new Map<number, Line>();

function lineOf(milliseconds: number): Line {
  const now = asyncScheduler.now();
  const known = lines.get(milliseconds);
  if (known?.since === now && !known.over) return known;
  if (lines.size === 0) {
    void Promise.resolve().then(() => {
      lines.clear();
    });
  }
  const line = new Line(now, milliseconds);
  lines.set(milliseconds, line);
  return line;
}

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
  return lineOf(milliseconds).enter(expire);
}
