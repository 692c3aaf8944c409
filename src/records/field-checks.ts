import { shown } from '../errors/shown.js';

function limitText(value: number | bigint): string {
  return value > 255 ? `0x${value.toString(16)}` : String(value);
}

/** The refusal of what is no such number. Texts are made for it only: checks are part of each join. */
function noSuchNumber(name: string, value: unknown, accepted: string): Error {
  return typeof value === 'number'
    ? new RangeError(`${name} is ${String(value)}; expected ${accepted}`)
    : new TypeError(`${name} is ${shown(value)}; expected ${accepted}`);
}

/** An integer of a range. */
export function integerIn(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value;
  }
  throw noSuchNumber(name, value, `an integer from ${limitText(min)} to ${limitText(max)}`);
}

/** A bigint from 0 to `max`. */
export function bigintIn(name: string, value: unknown, max: bigint): bigint {
  const accepted = `a bigint from 0n to ${limitText(max)}n`;
  if (typeof value !== 'bigint') {
    throw new TypeError(`${name} is ${shown(value)}; expected ${accepted}`);
  }
  if (value < 0n || value > max) {
    throw new RangeError(`${name} is ${String(value)}n; expected ${accepted}`);
  }
  return value;
}

/** One of a few numbers. */
export function numberOneOf(
  name: string,
  value: unknown,
  unit: string,
  accepted: readonly number[],
): number {
  if (typeof value === 'number' && accepted.includes(value)) return value;
  throw noSuchNumber(name, value, `one of ${accepted.join(', ')} (${unit})`);
}

/** One of a few names. */
export function nameOneOf<T extends string>(
  name: string,
  value: unknown,
  accepted: readonly T[],
): T {
  const found = accepted.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const message = `${name} is ${shown(value)}; expected one of ${accepted.map(shown).join(', ')}`;
  throw typeof value === 'string' ? new RangeError(message) : new TypeError(message);
}

/** The text of a GID in canonical form. */
export function gidText(name: string, value: unknown, canonical: (text: string) => string): string {
  try {
    return canonical(value as string);
  } catch (error) {
    const text = `${name}: ${(error as Error).message}`;
    throw error instanceof RangeError ? new RangeError(text) : new TypeError(text);
  }
}

/** True or false. */
export function booleanOf(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') {
    throw new TypeError(`${name} is ${shown(value)}; expected true or false`);
  }
  return value;
}

/**
 * Checks that `init` is an object with none but known keys.
 *
 * @param path Stands before the field names in messages, `'record.'` for example.
 * @param what The kind of record, for messages.
 */
export function checkKnownFields(
  init: unknown,
  fields: readonly string[],
  path: string,
  what: string,
): void {
  if (typeof init !== 'object' || init === null || Array.isArray(init)) {
    throw new TypeError(
      `${path.replace(/\.$/, '') || 'the record'} is ${shown(init)}; expected an object with ${what} fields`,
    );
  }
  for (const key in init) {
    // What is inherited is not looked at; a list of the keys would be made for each join.
    if (!fields.includes(key) && Object.hasOwn(init, key)) {
      throw new TypeError(`${path}${key} is no field of a record; fields: ${fields.join(', ')}`);
    }
  }
}
