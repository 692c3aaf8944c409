import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADDON_FUNCTIONS } from '../../src/binding/addon.js';
import { nativeEnvironment } from '../../src/binding/environment.js';
import { incomingArray, requestSlots } from '../../src/binding/exchange.js';
import { loadAddon } from '../../src/binding/load.js';
import { PORT_STATS_FIELDS } from '../../src/binding/stats-fields.js';
import { packMcMemberRecord, unpackMcMemberRecord } from '../../src/codec/mc-member-record.js';
import { SELECTORS } from '../../src/records/canonical-record.js';
import { JOIN_STATES } from '../../src/records/join-states.js';
import { canonicalGid, formatGid } from '../../src/address/gid.js';
import { MTU_BYTES, RATES_GBPS } from '../../src/records/units.js';

describe('the built addon', () => {
  it('has exactly the functions that are declared', () => {
    const { addon } = nativeEnvironment();
    expect(Object.keys(addon).sort()).toEqual([...ADDON_FUNCTIONS].sort());
  });

  it('has as many counters as are named', () => {
    expect(new Set(PORT_STATS_FIELDS).size).toBe(PORT_STATS_FIELDS.length);
    expect(() => {
      nativeEnvironment().addon.stats(999, new Float64Array(PORT_STATS_FIELDS.length));
    }).toThrow('the port is closed');
  });
});

describe('the addon itself, which nothing but the binding calls', () => {
  const nonsense = [undefined, null, NaN, -1, 1e300, '', 'create', true, 1n, Symbol('s'), {}, []];
  const more = [new Float64Array(3), new Uint8Array(64), new Float32Array(61), new ArrayBuffer(8)];

  it('answers what makes no sense by an exception, before anything is attached too', () => {
    const fresh = loadAddon();
    for (const name of ADDON_FUNCTIONS) {
      // These two do as they are told.
      if (name === 'hold' || name === 'drain') continue;
      const call: unknown = Reflect.get(fresh, name);
      for (const first of [...nonsense, ...more]) {
        for (const second of [...nonsense, ...more]) {
          try {
            Reflect.apply(call as () => unknown, second, [first, second, first, second] as never);
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
          }
        }
      }
    }
    expect(() => fresh.codec('packMcMemberRecord')).toThrow('nothing is attached');
    const { length } = requestSlots();
    expect(() => {
      fresh.attach(
        incomingArray(),
        new Float32Array(length) as never,
        requestSlots(),
        () => undefined,
        () => undefined,
      );
    }).toThrow('of different versions');
  });
});

describe('packMcMemberRecord', () => {
  const golden =
    'ff12401bffff00000000000000000001' +
    'fe800000000000000002c90000100001' +
    '00000b1bc0018400ffff838d00000000' +
    '21000000';

  it('packs the golden record', () => {
    const bytes = packMcMemberRecord({
      mgid: 'ff12:401b:ffff::1',
      portGid: 'fe80::2:c900:10:1',
      qkey: 0xb1b,
      mlid: 0xc001,
      mtu: 2048,
      pkey: 0xffff,
      rate: 10,
      packetLifeTime: 13,
      scope: 2,
    });
    expect(Buffer.from(bytes).toString('hex')).toBe(golden);
  });

  it('unpacks the golden record', () => {
    expect(unpackMcMemberRecord(Buffer.from(golden, 'hex'))).toEqual({
      mgid: 'ff12:401b:ffff::1',
      portGid: 'fe80::2:c900:10:1',
      qkey: 0xb1b,
      mlid: 0xc001,
      mtu: 2048,
      mtuCode: 4,
      mtuSelector: 'exactly',
      trafficClass: 0,
      pkey: 0xffff,
      rate: 10,
      rateCode: 3,
      rateSelector: 'exactly',
      packetLifeTime: 13,
      packetLifeTimeSelector: 'exactly',
      sl: 0,
      flowLabel: 0,
      hopLimit: 0,
      scope: 2,
      joinState: ['full-member'],
      proxyJoin: false,
    });
  });

  it('keeps unknown codes raw', () => {
    const bytes = Buffer.from(golden, 'hex');
    bytes[38] = 0x80 | 0x3f;
    bytes[42] = 0x80 | 0x3e;
    const record = unpackMcMemberRecord(bytes);
    expect([record.mtu, record.mtuCode, record.rate, record.rateCode]).toEqual([0, 63, 0, 62]);
  });

  it.each([0, 1, 51, 53, 256])('refuses %i bytes', (length) => {
    expect(() => unpackMcMemberRecord(new Uint8Array(length))).toThrow(RangeError);
  });

  it('round-trips every record', () => {
    const gid = fc
      .uint8Array({ minLength: 16, maxLength: 16 })
      .map((bytes) => canonicalGid(formatGid(bytes)));
    const mgid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => {
      bytes[0] = 0xff;
      return formatGid(bytes);
    });
    const selector = fc.constantFrom(...SELECTORS);
    const record = fc.record({
      mgid,
      portGid: gid,
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
      joinState: fc.subarray([...JOIN_STATES], { minLength: 1 }),
      proxyJoin: fc.boolean(),
    });
    fc.assert(
      fc.property(record, (given) => {
        expect(unpackMcMemberRecord(packMcMemberRecord(given))).toMatchObject(given);
      }),
    );
  });
});
