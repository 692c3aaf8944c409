import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalRecord, SELECTORS } from '../../src/records/canonical-record.js';
import { JOIN_STATES } from '../../src/records/join-states.js';
import {
  componentMaskFields,
  componentMaskOf,
  MC_MEMBER_FIELDS,
  recordComponentMask,
} from '../../src/records/component-mask.js';
import type { McMemberRecordInit } from '../../src/records/mc-member-record.js';
import {
  MTU_BYTES,
  mtuBytes,
  mtuCode,
  rateCode,
  rateGbps,
  RATES_GBPS,
} from '../../src/records/units.js';

const selector = fc.constantFrom(...SELECTORS);
const anyRecord: fc.Arbitrary<McMemberRecordInit> = fc.record(
  {
    mgid: fc.constantFrom('FF12:0::1', '::', 'ff15:401b:ffff::0102'),
    portGid: fc.constantFrom('FE80::1', '::'),
    qkey: fc.integer({ min: 0, max: 0xffffffff }),
    mlid: fc.integer({ min: 0xc000, max: 0xfffe }),
    mtu: fc.constantFrom(...MTU_BYTES),
    mtuSelector: selector,
    trafficClass: fc.integer({ min: 0, max: 255 }),
    pkey: fc.integer({ min: 0, max: 0xffff }),
    rate: fc.constantFrom(...RATES_GBPS),
    rateSelector: selector,
    packetLifeTime: fc.integer({ min: 0, max: 63 }),
    packetLifeTimeSelector: selector,
    sl: fc.integer({ min: 0, max: 15 }),
    flowLabel: fc.integer({ min: 0, max: 0xfffff }),
    hopLimit: fc.integer({ min: 0, max: 255 }),
    scope: fc.integer({ min: 0, max: 15 }),
    joinState: fc.oneof(
      fc.constantFrom(...JOIN_STATES),
      fc.uniqueArray(fc.constantFrom(...JOIN_STATES), { minLength: 1 }),
    ),
    proxyJoin: fc.boolean(),
  },
  { requiredKeys: [] },
);

describe('canonicalRecord', () => {
  it('fills in defaults', () => {
    expect(canonicalRecord({ mgid: 'FF12::1', mtu: 2048 })).toEqual({
      mgid: 'ff12::1',
      mtu: 2048,
      mtuSelector: 'exactly',
      joinState: ['full-member'],
    });
  });

  it('keeps a selector that was given, and lists join states in the order of their bits', () => {
    expect(
      canonicalRecord({
        rate: 100,
        rateSelector: 'greater-than',
        joinState: ['send-only-full-member', 'full-member', 'full-member'],
      }),
    ).toEqual({
      rate: 100,
      rateSelector: 'greater-than',
      joinState: ['full-member', 'send-only-full-member'],
    });
  });

  it.each<[unknown, ErrorConstructor, RegExp]>([
    [{ qKey: 1 }, TypeError, /^record\.qKey is no field of a record; fields: mgid, /],
    [{ mgid: 'x' }, TypeError, /^record\.mgid: 'x' is no GID/],
    [{ mgid: 'fe80::1' }, RangeError, /^record\.mgid: .*ff00::\/8/],
    [{ mgid: null }, TypeError, /^record\.mgid: a GID is text/],
    [{ portGid: 'ff' }, TypeError, /^record\.portGid: /],
    [{ qkey: -1 }, RangeError, /^record\.qkey is -1; expected an integer from 0 to 0xffffffff/],
    [{ qkey: 2 ** 32 }, RangeError, /^record\.qkey/],
    [{ qkey: 1.5 }, RangeError, /^record\.qkey is 1\.5/],
    [{ qkey: NaN }, RangeError, /^record\.qkey is NaN/],
    [{ qkey: '1' }, TypeError, /^record\.qkey is '1'/],
    [{ mlid: 0xbfff }, RangeError, /from 0xc000 to 0xfffe/],
    [{ mtu: 1500 }, RangeError, /^record\.mtu is 1500; expected one of 256, .* \(bytes\)/],
    [{ mtu: 4 }, RangeError, /^record\.mtu/],
    [{ rate: 3 }, RangeError, /^record\.rate is 3; expected one of 2\.5, 5, .* \(Gb\/s\)/],
    [{ mtuSelector: 'most' }, RangeError, /^record\.mtuSelector is 'most'; expected one of 'gre/],
    [{ mtuSelector: 2 }, TypeError, /^record\.mtuSelector is 2/],
    [{ sl: 16 }, RangeError, /from 0 to 15/],
    [{ flowLabel: 0x100000 }, RangeError, /from 0 to 0xfffff/],
    [{ packetLifeTime: 64 }, RangeError, /from 0 to 63/],
    [{ joinState: [] }, RangeError, /^record\.joinState is empty/],
    [{ joinState: 'member' }, RangeError, /^record\.joinState is 'member'/],
    [{ joinState: null }, TypeError, /^record\.joinState is null/],
    [{ proxyJoin: 1 }, TypeError, /expected true or false/],
    [null, TypeError, /^record is null/],
    [[], TypeError, /^record is \[\]/],
  ])('refuses %o', (init, type, message) => {
    const attempt = (): unknown => canonicalRecord(init as McMemberRecordInit, 'record.');
    expect(attempt).toThrow(type);
    expect(attempt).toThrow(message);
  });

  it('takes undefined for absent', () => {
    const init = { qkey: undefined } as unknown as McMemberRecordInit;
    expect(canonicalRecord(init)).toEqual({ joinState: ['full-member'] });
  });

  it('is a known record again exactly when that is the canonical form', () => {
    const known = canonicalRecord({ mgid: 'ff12::1', mtu: 2048, qkey: 7 });
    expect(canonicalRecord({ qkey: 7, mgid: 'FF12:0::1', mtu: 2048 }, '', known)).toBe(known);
    fc.assert(
      fc.property(anyRecord, anyRecord, (init, other) => {
        const record = canonicalRecord(init, '', canonicalRecord(other));
        expect(record).toEqual(canonicalRecord(init));
        expect(canonicalRecord(record, '', record)).toBe(record);
      }),
    );
    expect(() => canonicalRecord({ ...known, qkey: -1 }, 'record.', known)).toThrow('record.qkey');
    expect(() => canonicalRecord({ ...known, mgid: 'x' }, 'record.', known)).toThrow('record.mgid');
  });

  it('is idempotent, frozen, and changes no number', () => {
    fc.assert(
      fc.property(anyRecord, (init) => {
        const record = canonicalRecord(init);
        expect(canonicalRecord(record)).toEqual(record);
        expect(Object.isFrozen(record)).toBe(true);
        for (const [field, value] of Object.entries(init)) {
          if (typeof value === 'number') expect(record).toHaveProperty(field, value);
        }
      }),
    );
  });
});

describe('component mask', () => {
  it('has the bits of the specification', () => {
    expect(recordComponentMask(canonicalRecord({ mgid: 'ff12::1' }))).toBe(0x10003n);
    expect(recordComponentMask(canonicalRecord({ mgid: 'ff12::1', mtu: 256 }))).toBe(0x10033n);
    expect(componentMaskOf(['proxyJoin'])).toBe(1n << 17n);
    expect(componentMaskFields(0x10003n)).toEqual(['mgid', 'portGid', 'joinState']);
  });

  it('has one bit per field present, selectors of values included', () => {
    fc.assert(
      fc.property(anyRecord, (init) => {
        const fields = new Set<string>(['mgid', 'portGid', 'joinState', ...Object.keys(init)]);
        for (const field of ['mtu', 'rate', 'packetLifeTime']) {
          if (fields.has(field)) fields.add(`${field}Selector`);
        }
        const mask = recordComponentMask(canonicalRecord(init));
        expect(componentMaskFields(mask)).toEqual(
          MC_MEMBER_FIELDS.filter((field) => fields.has(field)),
        );
        expect(componentMaskOf(componentMaskFields(mask))).toBe(mask);
      }),
    );
  });
});

describe('units', () => {
  it('converts codes both ways', () => {
    for (const bytes of MTU_BYTES) expect(mtuBytes(mtuCode(bytes) ?? 0)).toBe(bytes);
    for (const gbps of RATES_GBPS) expect(rateGbps(rateCode(gbps) ?? 0)).toBe(gbps);
    expect(RATES_GBPS).toHaveLength(24);
    expect(rateCode(2.5)).toBe(2);
    expect(rateCode(1600)).toBe(25);
  });

  it('gives 0 for unknown codes', () => {
    expect(mtuBytes(0)).toBe(0);
    expect(mtuBytes(6)).toBe(0);
    expect(rateGbps(1)).toBe(0);
    expect(rateGbps(26)).toBe(0);
    expect(mtuCode(1500)).toBeUndefined();
    expect(rateCode(1)).toBeUndefined();
  });
});
