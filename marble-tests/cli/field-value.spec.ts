import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { fieldNumber, joinStates, portNumber } from '../../src/cli/field-value.js';
import { hex, parseNumber } from '../../src/cli/numbers.js';

describe('parseNumber', () => {
  it.each([
    ['0', 0],
    ['10', 10],
    ['010', 10],
    ['2.5', 2.5],
    ['0xb1b', 0xb1b],
    ['0XFFFF', 0xffff],
    ['-1', -1],
    ['-0x10', -16],
  ])('%s is %d', (text, value) => {
    expect(parseNumber(text)).toBe(value);
  });

  it.each(['', ' 1', '1 ', '1e3', '0x', '0xg', 'b1b', '0b1', '0o7', '1_000', '+1', '.5', 'NaN'])(
    '%o is none',
    (text) => {
      expect(parseNumber(text)).toBeUndefined();
    },
  );
});

it('writes hexadecimal', () => {
  expect([hex(0xb1b), hex(1, 4)]).toEqual(['0xb1b', '0x0001']);
});

describe('fieldNumber', () => {
  it('takes decimal and hexadecimal up to the limits of the field', () => {
    expect(fieldNumber('qkey', '0xffffffff')).toBe(0xffffffff);
    expect(fieldNumber('flowLabel', '1048575')).toBe(0xfffff);
    expect(fieldNumber('rate', '2.5')).toBe(2.5);
  });

  it.each([
    ['qkey', '0x100000000', 'Expected an integer from 0 to 0xffffffff, decimal or 0x hex.'],
    ['qkey', 'zz', 'Expected an integer from 0 to 0xffffffff, decimal or 0x hex.'],
    ['pkey', '65536', 'Expected an integer from 0 to 0xffff, decimal or 0x hex.'],
    ['sl', '-1', 'Expected an integer from 0 to 15, decimal or 0x hex.'],
    ['sl', '1.5', 'Expected an integer from 0 to 15, decimal or 0x hex.'],
    ['trafficClass', '256', 'Expected an integer from 0 to 255, decimal or 0x hex.'],
    ['flowLabel', '0x100000', 'Expected an integer from 0 to 0xfffff, decimal or 0x hex.'],
    ['mtu', '1500', 'Expected one of 256, 512, 1024, 2048, 4096 (bytes).'],
    ['rate', '11', /^Expected one of 2\.5, 5, 10, .* \(Gb\/s\)\.$/],
  ] as const)('%s %s: names the accepted form', (field, text, message) => {
    expect(() => fieldNumber(field, text)).toThrow(InvalidArgumentError);
    expect(() => fieldNumber(field, text)).toThrow(message);
  });
});

describe('joinStates', () => {
  it('takes one, or several with commas', () => {
    expect(joinStates('non-member')).toEqual(['non-member']);
    expect(joinStates('full-member, send-only-non-member')).toEqual([
      'full-member',
      'send-only-non-member',
    ]);
  });

  it.each(['', 'full', 'full-member,', 'full-member;non-member'])('refuses %o', (text) => {
    expect(() => joinStates(text)).toThrow(
      "Expected one of 'full-member', 'non-member', 'send-only-non-member', 'send-only-full-member', or several separated by commas.",
    );
  });
});

it.each(['0', '256', '1.5', 'x', ''])('refuses port %o', (text) => {
  expect(() => portNumber(text)).toThrow('Expected an integer from 1 to 255.');
});
