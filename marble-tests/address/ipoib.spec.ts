import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseGid } from '../../src/address/gid.js';
import { parseIpGroup } from '../../src/address/ip-group.js';
import { ipoibMgid, isIpoibMgid } from '../../src/address/ipoib.js';

describe('parseIpGroup', () => {
  it('gives canonical text', () => {
    expect(parseIpGroup('239.1.2.3')).toMatchObject({ family: 4, text: '239.1.2.3' });
    expect(parseIpGroup('FF05:0::0abc')).toMatchObject({ family: 6, text: 'ff05::abc' });
  });

  it.each(['', '239.1.2', '239.1.2.3.4', '239.1.2.256', '239.01.2.3', 'host', 'ff05:', '1:2'])(
    'refuses %o as text',
    (text) => {
      expect(() => parseIpGroup(text)).toThrow(TypeError);
    },
  );

  it.each(['10.0.0.1', '223.255.255.255', '240.0.0.0', '255.255.255.255', 'fe80::1', '::'])(
    'refuses %o as no multicast address',
    (text) => {
      expect(() => parseIpGroup(text)).toThrow(RangeError);
    },
  );
});

describe('ipoibMgid', () => {
  it.each([
    ['224.0.0.1', {}, 'ff12:401b:ffff::1'],
    ['239.1.2.3', {}, 'ff12:401b:ffff::f01:203'],
    ['239.255.255.255', { pkey: 0x1234 }, 'ff12:401b:9234::fff:ffff'],
    ['224.0.0.1', { scope: 5 }, 'ff15:401b:ffff::1'],
    ['ff02::1', {}, 'ff12:601b:ffff::1'],
    ['ff05::1:3', { pkey: 1 }, 'ff15:601b:8001::1:3'],
    ['ff0e:1:2:3:4:5:6:7', {}, 'ff1e:601b:ffff:3:4:5:6:7'],
    ['ff05::1', { scope: 2 }, 'ff12:601b:ffff::1'],
  ])('%s with %o is %s', (group, options, mgid) => {
    expect(ipoibMgid(group, options)).toBe(mgid);
  });

  it('refuses options out of range', () => {
    for (const pkey of [0, 0x8000, -1, 0x10000, 1.5, NaN]) {
      expect(() => ipoibMgid('224.0.0.1', { pkey })).toThrow(/^pkey is/);
    }
    for (const scope of [-1, 16, 1.5]) {
      expect(() => ipoibMgid('224.0.0.1', { scope })).toThrow(/^scope is/);
    }
  });

  it('keeps the low 28 bits of IPv4 groups, the low 80 of IPv6 groups, and bit 15', () => {
    const group = fc.oneof(
      fc.ipV4().map((ip) => ip.replace(/^[0-9]+/, (first) => String(224 + (Number(first) % 16)))),
      fc.ipV6().map((ip) => (ip.startsWith(':') ? `ff05${ip}` : ip.replace(/^[^:]+/, 'ff05'))),
    );
    fc.assert(
      fc.property(group, fc.integer({ min: 1, max: 0x7fff }), (text, pkey) => {
        let source;
        try {
          source = parseIpGroup(text);
        } catch {
          fc.pre(false);
          return;
        }
        const mgid = parseGid(ipoibMgid(text, { pkey }));
        expect(isIpoibMgid(mgid)).toBe(true);
        expect((mgid[4] ?? 0) * 256 + (mgid[5] ?? 0)).toBe(pkey | 0x8000);
        if (source.family === 6) expect(mgid.slice(6)).toEqual(source.bytes.slice(6));
        else {
          expect(mgid.slice(6, 12)).toEqual(new Uint8Array(6));
          expect(mgid[12]).toBe((source.bytes[0] ?? 0) & 0xf);
          expect(mgid.slice(13)).toEqual(source.bytes.slice(1));
        }
      }),
    );
  });
});
