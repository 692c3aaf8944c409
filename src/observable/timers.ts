// Not the global ones, which tests with fake timers replace: see `inRealTime`.
import { clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers';
import { asyncScheduler } from 'rxjs';
import type { SchedulerLike, Unsubscribable } from 'rxjs';

/** Milliseconds of work in one turn of the loop; the dispatch of completions may take 4 more of it. */
const BUDGET_MS = 2;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a queue of timers runs on. */
export interface TimerClock {
  /** Milliseconds, never going back. */
  now(): number;
  setTimeout(work: () => void, milliseconds: number): NodeJS.Timeout;
  clearTimeout(timer: NodeJS.Timeout): void;
  setImmediate(work: () => void): unknown;
}

/** One piece of work that waits. */
class Waiting implements Unsubscribable {
  constructor(
    public line: Line,
    readonly work: () => void,
  ) {}

  unsubscribe(): void {
    this.line.leave(this);
  }
}

/** Those that are due in the same millisecond, in the order in which they came. */
class Line {
  readonly all = new Set<Waiting>();

  /** `emptied` is called when the last one has left before its time. */
  constructor(readonly emptied: () => void) {}

  enter(waiting: Waiting): void {
    waiting.line = this;
    this.all.add(waiting);
  }

  leave(waiting: Waiting): void {
    if (this.all.delete(waiting) && this.all.size === 0) this.emptied();
  }
}

/**
 * Timers for many: those that are due in the same millisecond share one, and what is due is done in
 * several turns of the loop if it takes longer. Node runs all timers that are due in one go; ten thousand
 * rejoins would keep everything else waiting.
 */
export class TimerQueue {
  readonly #clock: TimerClock;
  readonly #lines = new Map<number, Line>();
  readonly #due = new Line(() => undefined);
  /** When the time that this turn of the loop has for work is over; undefined while none was done. */
  #until: number | undefined;

  constructor(clock: TimerClock) {
    this.#clock = clock;
  }

  /** Does `work` once, after so many milliseconds, unless what is returned is unsubscribed from. */
  start(milliseconds: number, work: () => void): Unsubscribable {
    const now = this.#clock.now();
    const at = Math.ceil(now + milliseconds);
    const line = this.#lines.get(at) ?? this.#open(at, at - now);
    const waiting = new Waiting(line, work);
    line.enter(waiting);
    return waiting;
  }

  #open(at: number, milliseconds: number): Line {
    const timer = this.#clock.setTimeout(
      () => {
        this.#lines.delete(at);
        for (const waiting of line.all) this.#due.enter(waiting);
        this.#serve();
      },
      // A timer that is longer than that fires at once.
      Math.min(Math.ceil(milliseconds), MAX_TIMER_MS),
    );
    const line = new Line(() => {
      // A timer that nobody needs would keep the process alive.
      this.#clock.clearTimeout(timer);
      this.#lines.delete(at);
    });
    this.#lines.set(at, line);
    return line;
  }

  #serve(): void {
    let until = this.#until;
    if (until === undefined) {
      until = this.#until = this.#clock.now() + BUDGET_MS;
      // Whatever else happens in this turn, such as work that throws: the next one goes on.
      this.#clock.setImmediate(() => {
        this.#until = undefined;
        if (this.#due.all.size > 0) this.#serve();
      });
    }
    // Work may take others with it, which are then no longer in the set.
    for (const waiting of this.#due.all) {
      if (this.#clock.now() >= until) return;
      this.#due.leave(waiting);
      waiting.work();
    }
  }
}

// The global performance is faked as well, and the first look at it loads eleven modules.
const now = (): number => process.uptime() * 1000;
const queue = new TimerQueue({ now, setTimeout, clearTimeout, setImmediate });

/**
 * Whether `asyncScheduler` keeps real time. A TestScheduler that runs gives it a clock of its own, and
 * fake timers take the place of the global ones; then each timer has to be one of theirs, at its own instant.
 */
function inRealTime(): boolean {
  if (globalThis.setInterval !== setInterval) return false;
  const before = Date.now();
  const now = asyncScheduler.now();
  return now >= before && now <= Date.now();
}

/**
 * Does `work` after so many milliseconds, unless what is returned is unsubscribed from.
 *
 * @param scheduler Whose time it is. The default one in real time shares timers, and does what is due
 * at once in more than one turn of the loop.
 */
export function startTimer(
  scheduler: SchedulerLike,
  milliseconds: number,
  work: () => void,
): Unsubscribable {
  return scheduler === asyncScheduler && inRealTime()
    ? queue.start(milliseconds, work)
    : scheduler.schedule(work, milliseconds);
}
