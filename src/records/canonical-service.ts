import { canonicalGid } from '../address/gid.js';
import { shown } from '../errors/shown.js';
import { bigintIn, checkKnownFields, gidText, integerIn } from './field-checks.js';
import { SERVICE_FIELDS } from './service-record.js';
import type { ServiceField, ServiceRecordInit } from './service-record.js';

/** Bytes of the name of a service. */
export const SERVICE_NAME_BYTES = 64;

/** Elements of the data areas at most. */
const DATA_LENGTHS = { data8: 16, data16: 8, data32: 4, data64: 2 } as const;

const U64_MAX = 2n ** 64n - 1n;

function leaseSeconds(name: string, value: unknown): number {
  if (value === Infinity) return Infinity;
  try {
    return integerIn(name, value, 0, 0xfffffffe);
  } catch (error) {
    const { message } = error as Error;
    throw error instanceof RangeError
      ? new RangeError(`${message}, or Infinity`)
      : new TypeError(`${message}, or Infinity`);
  }
}

function keyText(name: string, value: unknown): string {
  const accepted = 'expected 32 hexadecimal digits';
  if (typeof value !== 'string') throw new TypeError(`${name} is ${shown(value)}; ${accepted}`);
  if (!/^[0-9a-fA-F]{32}$/.test(value)) {
    throw new RangeError(`${name} is ${shown(value)}; ${accepted}`);
  }
  return value.toLowerCase();
}

function nameValue(name: string, value: unknown): string | Uint8Array {
  const accepted = `expected at most ${String(SERVICE_NAME_BYTES)} bytes of text without zero bytes, or exactly ${String(SERVICE_NAME_BYTES)} bytes`;
  if (typeof value === 'string') {
    if (new TextEncoder().encode(value).length > SERVICE_NAME_BYTES || value.includes('\0')) {
      throw new RangeError(`${name} is ${shown(value)}; ${accepted}`);
    }
    return value;
  }
  if (!(value instanceof Uint8Array)) {
    throw new TypeError(`${name} is ${shown(value)}; ${accepted}`);
  }
  if (value.length !== SERVICE_NAME_BYTES) {
    throw new RangeError(`${name} has ${String(value.length)} bytes; ${accepted}`);
  }
  return Uint8Array.from(value);
}

function elements<T>(
  name: string,
  value: unknown,
  most: number,
  element: (name: string, value: unknown) => T,
): readonly T[] {
  if (!Array.isArray(value)) {
    throw new TypeError(
      `${name} is ${shown(value)}; expected a list of at most ${String(most)} numbers`,
    );
  }
  if (value.length > most) {
    throw new RangeError(
      `${name} has ${String(value.length)} elements; expected at most ${String(most)}`,
    );
  }
  return Object.freeze(
    Array.from(value as unknown[], (one, index) => element(`${name}[${String(index)}]`, one)),
  );
}

function fieldValue(field: ServiceField, name: string, value: unknown): unknown {
  switch (field) {
    case 'serviceId':
      return bigintIn(name, value, U64_MAX);
    case 'serviceGid':
      return gidText(name, value, canonicalGid);
    case 'pkey':
      return integerIn(name, value, 0, 0xffff);
    case 'leaseSeconds':
      return leaseSeconds(name, value);
    case 'key':
      return keyText(name, value);
    case 'name':
      return nameValue(name, value);
    case 'data64':
      return elements(name, value, DATA_LENGTHS.data64, (at, one) => bigintIn(at, one, U64_MAX));
    default: {
      const max = { data8: 0xff, data16: 0xffff, data32: 0xffffffff }[field];
      return elements(name, value, DATA_LENGTHS[field], (at, one) => integerIn(at, one, 0, max));
    }
  }
}

/**
 * The fields of a ServiceRecord in canonical form, in mask order, frozen. Fields that are `undefined`
 * count as absent.
 *
 * @param path Stands before the field names in messages, `'record.'` for example.
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function canonicalService(
  init: Readonly<ServiceRecordInit>,
  path = '',
): Readonly<ServiceRecordInit> {
  checkKnownFields(init, SERVICE_FIELDS, path, 'ServiceRecord');
  const record: Partial<Record<ServiceField, unknown>> = {};
  for (const field of SERVICE_FIELDS) {
    const value = init[field];
    if (value !== undefined) record[field] = fieldValue(field, path + field, value);
  }
  return Object.freeze(record) as Readonly<ServiceRecordInit>;
}
