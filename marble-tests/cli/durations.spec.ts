import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../src/cli/durations.js';

const all = { zero: 'off', infinite: 'never' };

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['3s', 3_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1.5s', 1_500],
    ['0.5ms', 0.5],
    ['inf', Infinity],
    ['0', 0],
    ['0s', 0],
    ['2147483647ms', 2 ** 31 - 1],
    ['596h', 596 * 3_600_000],
  ])('%s is %d ms', (text, milliseconds) => {
    expect(parseDuration(text, all)).toBe(milliseconds);
  });

  it.each([
    '',
    '5',
    's',
    '-1s',
    '3 s',
    '3S',
    '3d',
    '1e3ms',
    '0x3s',
    '.5s',
    '1.s',
    'Infinity',
    'INF',
    'NaN',
    // One more, and a timer of Node would fire at once.
    '2147483648ms',
    '597h',
  ])('refuses %o', (text) => {
    expect(() => parseDuration(text, all)).toThrow(InvalidArgumentError);
    expect(() => parseDuration(text, all)).toThrow(/Expected a duration such as 500ms, 3s or 2m/);
  });

  it('takes 0 and inf only where they mean something', () => {
    for (const text of ['0', '0ms', 'inf']) {
      expect(() => parseDuration(text, {})).toThrow(
        'Expected a duration such as 500ms, 3s or 2m, above 0 and at most 596h.',
      );
    }
    expect(() => parseDuration('x', all)).toThrow('at most 596h (inf: never; 0: off).');
  });
});
