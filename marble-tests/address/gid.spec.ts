import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalGid, formatGid, isSameGid, parseGid } from '../../src/address/gid.js';
import { canonicalMgid } from '../../src/address/mgid.js';

const gid = fc.uint8Array({ minLength: 16, maxLength: 16 });
/** GIDs with runs of zeros, which random bytes hardly ever have. */
const sparse = fc
  .array(fc.constantFrom(0, 0, 0, 1, 0xffff), { minLength: 8, maxLength: 8 })
  .map((groups) => Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff])));

describe('parseGid and formatGid', () => {
  it.each([
    ['FF12:401B:FFFF:0:0:0:0:1', 'ff12:401b:ffff::1'],
    ['ff12:0401:0000:0000:0000:0000:0000:0001', 'ff12:401::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['fe80::', 'fe80::'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:2:3:0:0:4', '1::2:3:0:0:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::ffff:192.0.2.1', '::ffff:c000:201'],
    ['ff12:401b:ffff::239.1.2.3', 'ff12:401b:ffff::ef01:203'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalGid(text)).toBe(canonical);
  });

  it.each([
    '',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4::5:6:7:8',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '12345::',
    'g::',
    '::1.2.3',
    '::1.2.3.4.5',
    '::1.2.3.256',
    '::01.2.3.4',
    '1.2.3.4::',
    '1.2.3.4',
    ' ::',
    '::%eth0',
    '0x1::',
  ])('refuses %o', (text) => {
    expect(() => parseGid(text)).toThrow(TypeError);
    expect(() => parseGid(text)).toThrow(/is no GID: .*; expected an IPv6 address/);
  });

  it('refuses what is no text', () => {
    expect(() => parseGid(5 as unknown as string)).toThrow(/a GID is text, not number/);
  });

  it('refuses other lengths', () => {
    expect(() => formatGid(new Uint8Array(15))).toThrow(RangeError);
  });

  it('round-trips', () => {
    fc.assert(
      fc.property(fc.oneof(gid, sparse), (bytes) => {
        expect(parseGid(formatGid(bytes))).toEqual(bytes);
        expect(parseGid(formatGid(bytes).toUpperCase())).toEqual(bytes);
      }),
    );
  });

  it('writes what Node reads, and as the URL parser writes it', () => {
    fc.assert(
      fc.property(fc.oneof(gid, sparse), (bytes) => {
        const text = formatGid(bytes);
        expect(isIPv6(text)).toBe(true);
        // Another implementation of RFC 5952.
        expect(new URL(`http://[${text}]`).hostname).toBe(`[${text}]`);
      }),
    );
  });

  it('reads exactly what Node reads, zones apart', () => {
    const text = fc
      .array(
        fc.constantFrom('0', '1', 'ff', 'ABCD', '12345', ':', ':', ':', '::', '1.2.3.4', 'g'),
        {
          maxLength: 17,
        },
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (candidate) => {
        let read = true;
        try {
          parseGid(candidate);
        } catch {
          read = false;
        }
        expect(read).toBe(isIPv6(candidate));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('isSameGid', () => {
  it('is true for two spellings of one GID, and for nothing else', () => {
    expect(isSameGid('FF12:0::1', 'ff12::1')).toBe(true);
    expect(isSameGid('ff12::1', 'ff12::2')).toBe(false);
    expect(isSameGid('ff12::1:0', 'ff12::1')).toBe(false);
    for (const none of ['', 'ff12', 'ff12::1::', 7, undefined]) {
      expect(isSameGid(none, 'ff12::1')).toBe(false);
      expect(isSameGid('ff12::1', none)).toBe(false);
    }
    fc.assert(
      fc.property(sparse, sparse, (one, other) => {
        const [a, b] = [formatGid(one), formatGid(other)];
        expect(isSameGid(a.toUpperCase(), b)).toBe(a === b);
        expect(isSameGid(a.toUpperCase(), a)).toBe(true);
      }),
    );
  });
});

describe('canonicalMgid', () => {
  it('takes multicast GIDs and the unassigned one', () => {
    expect(canonicalMgid('FF12::0A')).toBe('ff12::a');
    expect(canonicalMgid('0::0')).toBe('::');
  });

  it('refuses others', () => {
    expect(() => canonicalMgid('fe80::1')).toThrow(RangeError);
    expect(() => canonicalMgid('fe80::1')).toThrow(/no multicast GID; expected one within ff00::/);
  });
});
