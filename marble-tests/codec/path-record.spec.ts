import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packPathRecord, unpackPathRecord } from '../../src/codec/path-record.js';
import { rocePathRecord } from '../../src/records/canonical-path.js';
import { SELECTORS } from '../../src/records/canonical-record.js';
import { pathComponentMask } from '../../src/records/path-record.js';
import type { PathRecordInit } from '../../src/records/path-record.js';
import { MTU_BYTES, RATES_GBPS } from '../../src/records/units.js';
import { anyBytes } from './any-bytes.js';

const selector = fc.constantFrom(...SELECTORS);
const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
const anyPath: fc.Arbitrary<PathRecordInit> = fc.record(
  {
    serviceId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    dgid: fc.constantFrom('fe80::1', 'ff12:401b:ffff::1', '::'),
    sgid: fc.constantFrom('fe80::2', '::'),
    dlid: upTo(0xffff),
    slid: upTo(0xffff),
    rawTraffic: fc.boolean(),
    flowLabel: upTo(0xfffff),
    hopLimit: upTo(255),
    trafficClass: upTo(255),
    reversible: fc.boolean(),
    numbPath: upTo(127),
    pkey: upTo(0xffff),
    qosClass: upTo(0xfff),
    sl: upTo(15),
    mtu: fc.constantFrom(...MTU_BYTES),
    mtuSelector: selector,
    rate: fc.constantFrom(...RATES_GBPS),
    rateSelector: selector,
    packetLifeTime: upTo(63),
    packetLifeTimeSelector: selector,
    preference: upTo(255),
  },
  { requiredKeys: [] },
);

describe('packPathRecord and unpackPathRecord', () => {
  it('have the golden bytes', () => {
    const bytes = packPathRecord({
      serviceId: 0x0102030405060708n,
      dgid: '1011:1213:1415:1617:1819:1a1b:1c1d:1e1f',
      sgid: '2021:2223:2425:2627:2829:2a2b:2c2d:2e2f',
      dlid: 0x3132,
      slid: 0x3334,
      rawTraffic: true,
      flowLabel: 0xabcde,
      hopLimit: 0x40,
      trafficClass: 0x41,
      reversible: true,
      numbPath: 0x7e,
      pkey: 0xffff,
      qosClass: 0x123,
      sl: 9,
      mtu: 2048,
      rate: 10,
      rateSelector: 'less-than',
      packetLifeTime: 18,
      packetLifeTimeSelector: 'largest-available',
      preference: 0x55,
    });
    expect(Buffer.from(bytes).toString('hex')).toBe(
      '0102030405060708101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f' +
        '313233348abcde4041feffff12398443d255000000000000',
    );
  });

  it('give every field back', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        expect(unpackPathRecord(packPathRecord(path))).toMatchObject(path);
      }),
    );
  });

  it('give every bit back but those of the reserved fields, unknown codes included', () => {
    fc.assert(
      fc.property(anyBytes(64), (bytes) => {
        const expected = Uint8Array.from(bytes).fill(0, 58);
        expected[44] = (bytes[44] ?? 0) & 0x8f;
        expect(packPathRecord(unpackPathRecord(bytes))).toEqual(expected);
      }),
    );
  });

  it('refuse what is no record', () => {
    expect(() => unpackPathRecord(new Uint8Array(63))).toThrow(RangeError);
    expect(() => unpackPathRecord('x' as unknown as Uint8Array)).toThrow(TypeError);
    expect(() => packPathRecord({ sl: 16 })).toThrow('sl is 16; expected an integer from 0 to 15');
    expect(() => packPathRecord({ dlid: '3' } as unknown as PathRecordInit)).toThrow(TypeError);
    expect(() => packPathRecord({ slot: 3 } as unknown as PathRecordInit)).toThrow(
      /slot is no field of a record; fields: serviceId, dgid/,
    );
    expect(() => packPathRecord({ serviceId: -1n })).toThrow(RangeError);
  });
});

describe('pathComponentMask', () => {
  it('has the bits of the fields present, two for a ServiceID', () => {
    expect(pathComponentMask({})).toBe(0n);
    expect(pathComponentMask({ serviceId: 1n })).toBe(0b11n);
    expect(pathComponentMask({ dgid: '::', sgid: '::', numbPath: 1 })).toBe(0x100cn);
    expect(pathComponentMask({ preference: 0 })).toBe(1n << 22n);
    expect(pathComponentMask({ flowLabel: 0 })).toBe(1n << 8n);
  });
});

describe('rocePathRecord', () => {
  const record = rocePathRecord({
    dgid: '::ffff:10.0.0.2',
    sgid: '::ffff:10.0.0.1',
    dmac: '02-00-00-00-00-0A',
    mtu: 1024,
  });

  it('has a destination MAC and says whether the route was resolved', () => {
    expect(record).toMatchObject({
      type: 'roce',
      version: 2,
      dgid: '::ffff:a00:2',
      dmac: '02:00:00:00:00:0a',
      routeResolved: true,
      hopLimit: 64,
      mtu: 1024,
      mtuCode: 3,
    });
    expect(record).not.toHaveProperty('dlid');
  });

  it('has no form on the wire', () => {
    expect(() => packPathRecord(record)).toThrow(/RoCE path has no form on the wire/);
  });

  it('refuses what it cannot be', () => {
    const base = { dgid: '::', sgid: '::' };
    expect(() => rocePathRecord({ ...base, dmac: 'nonsense' })).toThrow(RangeError);
    expect(() => rocePathRecord({ ...base, dmac: '02:00:00:00:00:01', dlid: 1 } as never)).toThrow(
      /dlid is no field/,
    );
  });
});
