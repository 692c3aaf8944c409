import { asyncScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Unsubscribable } from 'rxjs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startTimeout } from '../../src/observable/join-timeouts.js';

describe('startTimeout', () => {
  let log: string[];
  let begin: number;
  beforeEach(() => {
    vi.useFakeTimers();
    log = [];
    begin = performance.now();
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  const start = (name: string, milliseconds: number, then?: () => void): Unsubscribable =>
    startTimeout(asyncScheduler, milliseconds, () => {
      log.push(`${name} ${String(performance.now() - begin)}`);
      then?.();
    });

  it('ends each at its own time, with one timer for those of one go and one duration', () => {
    start('a', 100);
    start('b', 100);
    vi.advanceTimersByTime(30);
    start('c', 100);
    start('other', 50);
    expect(vi.getTimerCount()).toBe(3);
    vi.advanceTimersByTime(1_000);
    expect(log).toEqual(['other 80', 'a 100', 'b 101', 'c 130']);
  });

  it('says nothing to those that have left, the first of the line among them', () => {
    const first = start('first', 100);
    vi.advanceTimersByTime(40);
    const second = start('second', 100);
    start('third', 100);
    first.unsubscribe();
    second.unsubscribe();
    vi.advanceTimersByTime(99);
    expect(log).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(log).toEqual(['third 140']);
  });

  it('leaves no timer behind when all have left, and leaving twice is harmless', () => {
    const one = start('one', 100);
    const other = start('other', 100);
    one.unsubscribe();
    one.unsubscribe();
    expect(vi.getTimerCount()).toBe(1);
    other.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes those that begin when others end', () => {
    start('a', 10, () => start('again', 10));
    start('b', 10);
    vi.advanceTimersByTime(100);
    expect(log).toEqual(['a 10', 'b 11', 'again 20']);
  });

  it('does not end one that another has taken along', () => {
    let taken: Unsubscribable | undefined = undefined;
    start('a', 10, () => taken?.unsubscribe());
    taken = start('b', 10);
    start('c', 10);
    vi.advanceTimersByTime(100);
    expect(log).toEqual(['a 10', 'c 11']);
  });

  it('ends the others where the consumer of one throws', () => {
    start('a', 10, () => {
      throw new Error('of a');
    });
    start('b', 10);
    expect(() => vi.advanceTimersByTime(10)).toThrow('of a');
    vi.advanceTimersByTime(10);
    expect(log).toEqual(['a 10', 'b 11']);
  });

  it('is over in time where a clock that was fake has left others behind', async () => {
    start('left behind', 20);
    const now = Date.now();
    vi.useRealTimers();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
    await Promise.resolve();
    await new Promise<void>((resolve) => {
      startTimeout(asyncScheduler, 20, resolve);
    });
    clock.mockRestore();
    vi.useFakeTimers();
  });

  it('keeps to the virtual time of a TestScheduler, whatever waits in real time', () => {
    vi.useRealTimers();
    const real = startTimeout(asyncScheduler, 100, () => log.push('real'));
    const scheduler = new TestScheduler(() => undefined);
    scheduler.run(({ flush }) => {
      for (const at of [0, 30]) {
        scheduler.schedule(() => {
          startTimeout(asyncScheduler, 100, () => log.push(String(scheduler.now())));
        }, at);
      }
      flush();
    });
    real.unsubscribe();
    vi.useFakeTimers();
    expect(log).toEqual(['100', '130']);
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
            vi.advanceTimersByTime(pause);
            const now = performance.now();
            const limit = startTimeout(asyncScheduler, milliseconds, () => {
              ended.set(index, performance.now());
            });
            if (leaves === undefined || leaves >= milliseconds) {
              expected.set(index, now + milliseconds);
            }
            if (leaves !== undefined) {
              setTimeout(() => {
                limit.unsubscribe();
              }, leaves);
            }
          });
          vi.advanceTimersByTime(1_000);
          // All but the first of a go end with a timer of their own, which takes a millisecond. One
          // that leaves in the very millisecond of its end may do either.
          joins.forEach(({ milliseconds, leaves }, index) => {
            const end = ended.get(index);
            const wanted = expected.get(index);
            if (leaves === milliseconds || leaves === milliseconds + 1) return;
            if (wanted === undefined) expect(end).toBeUndefined();
            else expect([wanted, wanted + 1]).toContain(end);
          });
        },
      ),
    );
  });

  it('leaves other schedulers to themselves', () => {
    const scheduler = new TestScheduler(() => undefined);
    startTimeout(scheduler, 10, () => log.push('virtual'));
    expect(vi.getTimerCount()).toBe(0);
    scheduler.flush();
    expect(log).toEqual(['virtual']);
  });
});
