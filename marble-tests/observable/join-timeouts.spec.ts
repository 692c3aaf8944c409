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

  it('ends each at its own time, with one timer for those of the same duration', () => {
    start('a', 100);
    start('b', 100);
    vi.advanceTimersByTime(30);
    start('c', 100);
    start('other', 50);
    expect(vi.getTimerCount()).toBe(2);
    vi.advanceTimersByTime(1_000);
    expect(log).toEqual(['other 80', 'a 100', 'b 100', 'c 130']);
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
    expect(log).toEqual(['a 10', 'b 10', 'again 20']);
  });

  it('does not end one that another has taken along', () => {
    let taken: Unsubscribable | undefined = undefined;
    start('a', 10, () => taken?.unsubscribe());
    taken = start('b', 10);
    start('c', 10);
    vi.advanceTimersByTime(100);
    expect(log).toEqual(['a 10', 'c 10']);
  });

  it('goes on by its timers where the clock stands still or jumps', () => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const clock = vi.spyOn(performance, 'now');
    for (const [at, name] of [
      [0, 'a'],
      [30, 'b'],
      [60, 'c'],
    ] as const) {
      clock.mockReturnValue(at);
      startTimeout(asyncScheduler, 100, () => log.push(name));
    }
    clock.mockReturnValue(0);
    vi.advanceTimersByTime(100);
    expect(log).toEqual(['a']);
    vi.advanceTimersByTime(30);
    expect(log).toEqual(['a', 'b']);
    clock.mockReturnValue(1e6);
    vi.advanceTimersByTime(30);
    expect(log).toEqual(['a', 'b', 'c']);
    clock.mockRestore();
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
          // One that leaves in the very millisecond of its end may do either.
          joins.forEach(({ milliseconds, leaves }, index) => {
            if (leaves === milliseconds) {
              ended.delete(index);
              expected.delete(index);
            }
          });
          expect(ended).toEqual(expected);
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
