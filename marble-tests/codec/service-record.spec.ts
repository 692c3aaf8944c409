import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packServiceRecord, unpackServiceRecord } from '../../src/codec/service-record.js';
import { serviceComponentMask } from '../../src/records/service-record.js';
import type { ServiceRecordInit } from '../../src/records/service-record.js';
import { anyBytes } from './any-bytes.js';

const list = (max: number, length: number): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min: 0, max }), { maxLength: length });
const anyService: fc.Arbitrary<ServiceRecordInit> = fc.record(
  {
    serviceId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    serviceGid: fc.constantFrom('fe80::1', '::'),
    pkey: fc.integer({ min: 0, max: 0xffff }),
    leaseSeconds: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 0xfffffffe })),
    key: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((b) => Buffer.from(b).toString('hex')),
    name: fc.constantFrom('', 'market data', 'Käse', 'x'.repeat(64)),
    data8: list(0xff, 16),
    data16: list(0xffff, 8),
    data32: list(0xffffffff, 4),
    data64: fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

describe('packServiceRecord and unpackServiceRecord', () => {
  it('have the golden bytes', () => {
    const bytes = packServiceRecord({
      serviceId: 0x1000000000000001n,
      serviceGid: '1011:1213:1415:1617:1819:1a1b:1c1d:1e1f',
      pkey: 0x8001,
      leaseSeconds: 300,
      key: 'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff',
      name: 'market data',
      data8: [1],
      data16: [0x1100, 0x1101],
      data32: [0x22222200],
      data64: [0x3333333333333300n],
    });
    expect(Buffer.from(bytes).toString('hex')).toBe(
      '1000000000000001101112131415161718191a1b1c1d1e1f80010000' +
        '0000012cf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff' +
        '6d61726b65742064617461'.padEnd(128, '0') +
        '01'.padEnd(32, '0') +
        '11001101'.padEnd(32, '0') +
        '22222200'.padEnd(32, '0') +
        '3333333333333300'.padEnd(32, '0'),
    );
  });

  it('give every field back, data areas filled up with zeros', () => {
    const filled = <T>(values: readonly T[] | undefined, length: number, zero: T): T[] =>
      Array.from({ length }, (_, index) => values?.[index] ?? zero);
    fc.assert(
      fc.property(anyService, (service) => {
        expect(unpackServiceRecord(packServiceRecord(service))).toMatchObject({
          ...service,
          data8: filled(service.data8, 16, 0),
          data16: filled(service.data16, 8, 0),
          data32: filled(service.data32, 4, 0),
          data64: filled(service.data64, 2, 0n),
        });
      }),
    );
  });

  it('give every bit back but those of the reserved field, names that are no text included', () => {
    fc.assert(
      fc.property(anyBytes(176), (bytes) => {
        const expected = Uint8Array.from(bytes).fill(0, 26, 28);
        expect(packServiceRecord(unpackServiceRecord(bytes))).toEqual(expected);
      }),
    );
  });

  it('refuse what is no record', () => {
    const refused = (record: unknown): (() => unknown) => {
      return () => packServiceRecord(record as ServiceRecordInit);
    };
    expect(() => unpackServiceRecord(new Uint8Array(175))).toThrow(RangeError);
    expect(refused({ name: 'ä'.repeat(33) })).toThrow(RangeError);
    expect(refused({ name: 'a\0b' })).toThrow(RangeError);
    expect(refused({ name: new Uint8Array(3) })).toThrow(/name has 3 bytes/);
    expect(refused({ key: 'abc' })).toThrow(/32 hexadecimal digits/);
    expect(refused({ leaseSeconds: 0xffffffff })).toThrow(/or Infinity/);
    expect(refused({ leaseSeconds: '1' })).toThrow(TypeError);
    expect(refused({ data16: [1, 2, 3, 4, 5, 6, 7, 8, 9] })).toThrow(/at most 8/);
    expect(refused({ data8: [256] })).toThrow(/data8\[0\] is 256/);
    expect(refused({ data64: [1] })).toThrow(TypeError);
    expect(refused({ data8: [1, undefined] })).toThrow(/data8\[1\]/);
    expect(refused({ port: 1 })).toThrow(/port is no field/);
  });
});

describe('serviceComponentMask', () => {
  it('has a bit for each field and each data element present', () => {
    expect(serviceComponentMask({})).toBe(0n);
    expect(serviceComponentMask({ serviceId: 0n, serviceGid: '::', pkey: 0 })).toBe(0b111n);
    expect(serviceComponentMask({ leaseSeconds: 1, key: '', name: '' })).toBe(0b1110000n);
    expect(serviceComponentMask({ name: new Uint8Array(64) })).toBe(1n << 6n);
    expect(serviceComponentMask({ data8: [1, 2] })).toBe(0b11n << 7n);
    expect(serviceComponentMask({ data16: [1], data32: [1, 1], data64: [1n, 1n] })).toBe(
      (1n << 23n) | (0b11n << 31n) | (0b11n << 35n),
    );
    expect(serviceComponentMask({ data8: [] })).toBe(0n);
  });
});
