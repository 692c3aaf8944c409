import { asyncScheduler, Subscription } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Unsubscribable } from 'rxjs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startTimer, TimerQueue } from '../../src/observable/timers.js';
import type { TimerClock } from '../../src/observable/timers.js';

const BUDGET_MS = 2;

/** A loop that turns by hand. */
class ManualLoop implements TimerClock {
  time = 0;
  readonly timers = new Map<object, { at: number; work: () => void }>();
  immediates: (() => void)[] = [];

  readonly now = (): number => this.time;

  readonly setTimeout = (work: () => void, milliseconds: number): NodeJS.Timeout => {
    const timer = {} as NodeJS.Timeout;
    this.timers.set(timer, { at: this.time + milliseconds, work });
    return timer;
  };

  readonly clearTimeout = (timer: NodeJS.Timeout): void => {
    this.timers.delete(timer);
  };

  readonly setImmediate = (work: () => void): void => {
    this.immediates.push(work);
  };

  /** What is to be done immediately, which ends a turn of the loop, and the timers, which begin the next. */
  turn(): void {
    for (const work of this.immediates.splice(0)) work();
    const due = [...this.timers].filter(([, { at }]) => at <= this.time);
    for (const [timer, { work }] of due.sort(([, a], [, b]) => a.at - b.at)) {
      this.timers.delete(timer);
      work();
    }
  }

  /** Turns in each millisecond until nothing is left to be done in it. */
  advance(milliseconds: number): void {
    for (const end = this.time + milliseconds; this.time < end; this.time += 1) this.#settle();
    this.#settle();
  }

  #settle(): void {
    do this.turn();
    while (this.immediates.length > 0);
  }
}

describe('TimerQueue', () => {
  let log: string[];
  let loop: ManualLoop;
  let queue: TimerQueue;
  beforeEach(() => {
    log = [];
    loop = new ManualLoop();
    queue = new TimerQueue(loop);
  });
  afterEach(() => {
    loop.turn();
    expect(loop.timers.size).toBe(0);
    expect(loop.immediates).toEqual([]);
  });

  const start = (name: string, milliseconds: number, then?: () => void): Unsubscribable =>
    queue.start(milliseconds, () => {
      log.push(`${name} ${String(loop.time)}`);
      then?.();
    });
  const work = (milliseconds: number) => (): void => {
    loop.time += milliseconds;
  };

  it('ends each at its own time, with one timer for those of one millisecond', () => {
    start('a', 100);
    start('b', 100);
    loop.advance(30);
    start('c', 100);
    start('early', 50);
    start('with a', 70);
    expect(loop.timers.size).toBe(3);
    loop.advance(1_000);
    expect(log).toEqual(['early 80', 'a 100', 'b 100', 'with a 100', 'c 130']);
  });

  it('is never early for a fraction of a millisecond', () => {
    start('a', 10.2);
    start('b', 10.9);
    start('c', 11);
    expect(loop.timers.size).toBe(1);
    loop.advance(100);
    expect(log).toEqual(['a 11', 'b 11', 'c 11']);
  });

  it('says nothing to those that have left, the first of the line among them', () => {
    const first = start('first', 100);
    loop.advance(40);
    const second = start('second', 60);
    start('third', 60);
    first.unsubscribe();
    second.unsubscribe();
    loop.advance(59);
    expect(log).toEqual([]);
    loop.advance(1);
    expect(log).toEqual(['third 100']);
  });

  it('leaves no timer behind when all have left, and leaving twice is harmless', () => {
    const one = start('one', 100);
    const other = start('other', 100);
    one.unsubscribe();
    one.unsubscribe();
    expect(loop.timers.size).toBe(1);
    other.unsubscribe();
    expect(loop.timers.size).toBe(0);
    start('later', 100);
    one.unsubscribe();
    loop.advance(100);
    expect(log).toEqual(['later 100']);
  });

  it('takes those that begin when others end', () => {
    start('a', 10, () => start('again', 10));
    start('b', 10);
    loop.advance(100);
    expect(log).toEqual(['a 10', 'b 10', 'again 20']);
  });

  it('does not end one that another has taken along', () => {
    let taken: Unsubscribable | undefined = undefined;
    start('a', 10, () => taken?.unsubscribe());
    taken = start('b', 10);
    start('c', 10);
    loop.advance(100);
    expect(log).toEqual(['a 10', 'c 10']);
  });

  it('lets the loop turn when the work of a turn has taken its time, and loses nobody', () => {
    for (let i = 0; i < 7; i += 1) start(String(i), 10, work(BUDGET_MS / 2));
    loop.time = 10;
    for (const done of [2, 4, 6, 7]) {
      loop.turn();
      expect(log).toHaveLength(done);
    }
    expect(log).toEqual(['0 10', '1 11', '2 12', '3 13', '4 14', '5 15', '6 16']);
  });

  it('has one turn for all lines that are due, in the order in which they were', () => {
    start('b', 11, work(BUDGET_MS));
    start('a', 10, work(BUDGET_MS));
    start('c', 11);
    loop.time = 20;
    loop.turn();
    expect(log).toEqual(['a 20']);
    loop.turn();
    expect(log).toEqual(['a 20', 'b 22']);
    loop.turn();
    expect(log).toEqual(['a 20', 'b 22', 'c 24']);
  });

  it('lets those that wait for a later turn leave', () => {
    start('a', 10, work(BUDGET_MS));
    const b = start('b', 10);
    const c = start('c', 10);
    loop.time = 10;
    loop.turn();
    b.unsubscribe();
    c.unsubscribe();
    b.unsubscribe();
    loop.advance(100);
    expect(log).toEqual(['a 10']);
  });

  it('ends the others where one throws', () => {
    start('a', 10, () => {
      throw new Error('of a');
    });
    start('b', 10);
    expect(() => {
      loop.advance(10);
    }).toThrow('of a');
    loop.advance(10);
    expect(log).toEqual(['a 10', 'b 10']);
  });

  it('takes the longest time that a Node timer can wait, from between two milliseconds as well', () => {
    loop.time = 0.5;
    const longest = start('longest', 2 ** 31 - 1);
    expect([...loop.timers.values()]).toMatchObject([{ at: 0.5 + 2 ** 31 - 1 }]);
    longest.unsubscribe();
  });

  it('gives everyone the full time and no more, whoever comes and goes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            pause: fc.integer({ min: 0, max: 60 }),
            milliseconds: fc.constantFrom(50, 80),
            leaves: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
          }),
          { maxLength: 30 },
        ),
        (joins) => {
          const ended = new Map<number, number>();
          const expected = new Map<number, number>();
          joins.forEach(({ pause, milliseconds, leaves }, index) => {
            loop.advance(pause);
            const now = loop.time;
            const waiting = queue.start(milliseconds, () => {
              ended.set(index, loop.time);
            });
            if (leaves === undefined || leaves >= milliseconds) {
              expected.set(index, now + milliseconds);
            }
            if (leaves !== undefined) {
              loop.setTimeout(() => {
                waiting.unsubscribe();
              }, leaves);
            }
          });
          loop.advance(1_000);
          // One that leaves in the very millisecond of its end may do either.
          joins.forEach(({ milliseconds, leaves }, index) => {
            if (leaves !== milliseconds) expect(ended.get(index)).toBe(expected.get(index));
          });
        },
      ),
    );
  });
});

describe('startTimer', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('shares timers in real time, and is not early', async () => {
    const schedule = vi.spyOn(asyncScheduler, 'schedule');
    const since = performance.now();
    const times = await Promise.all(
      [20, 20, 30].map(
        (milliseconds) =>
          new Promise<number>((resolve) => {
            startTimer(asyncScheduler, milliseconds, () => {
              // As Node's own timers, it knows whole milliseconds.
              resolve(performance.now() - since - milliseconds + 1);
            });
          }),
      ),
    );
    expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
    expect(schedule).not.toHaveBeenCalled();
    schedule.mockRestore();
  });

  it('takes the timers of asyncScheduler where they are fake, each its own', () => {
    vi.useFakeTimers();
    const log: string[] = [];
    const begin = Date.now();
    const start = (name: string, milliseconds: number): Unsubscribable =>
      startTimer(asyncScheduler, milliseconds, () => {
        log.push(`${name} ${String(Date.now() - begin)}`);
      });
    const a = start('a', 10);
    start('b', 10);
    start('c', 20);
    expect(a).toBeInstanceOf(Subscription);
    expect(vi.getTimerCount()).toBe(3);
    a.unsubscribe();
    vi.advanceTimersByTime(100);
    expect(log).toEqual(['b 10', 'c 20']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps to the virtual time of a TestScheduler, whatever waits in real time', () => {
    const log: string[] = [];
    const real = startTimer(asyncScheduler, 100, () => log.push('real'));
    const scheduler = new TestScheduler(() => undefined);
    scheduler.run(({ flush }) => {
      for (const at of [0, 30]) {
        scheduler.schedule(() => {
          startTimer(asyncScheduler, 100, () => log.push(String(scheduler.now())));
        }, at);
      }
      flush();
    });
    real.unsubscribe();
    expect(log).toEqual(['100', '130']);
  });

  it('leaves other schedulers to themselves', () => {
    const log: string[] = [];
    const scheduler = new TestScheduler(() => undefined);
    startTimer(scheduler, 10, () => log.push('virtual'));
    scheduler.flush();
    expect(log).toEqual(['virtual']);
  });
});
