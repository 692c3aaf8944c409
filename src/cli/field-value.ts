import { InvalidArgumentError } from 'commander';
import { checkPort } from '../observable/join-request.js';
import { canonicalRecord } from '../records/canonical-record.js';
import type { JoinState } from '../records/mc-member-record.js';
import { parseNumber } from './numbers.js';

/** The fields of a record that a flag sets to a number. */
export type NumberField = 'qkey' | 'pkey' | 'mtu' | 'rate' | 'sl' | 'trafficClass' | 'flowLabel';

/**
 * What a check of the library accepts, as a sentence. The checks are the only place that knows the
 * ranges; only where a value was given differs from flag to field.
 */
export function acceptedForm(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, form] = /expected (.*)$/s.exec(message) ?? [];
  return form === undefined ? message : `Expected ${form}`;
}

function checked<T>(check: () => T, also: string): T {
  try {
    return check();
  } catch (error) {
    throw new InvalidArgumentError(`${acceptedForm(error)}${also}.`);
  }
}

/**
 * The number of a record's flag.
 *
 * @throws InvalidArgumentError that says what is accepted.
 */
export function fieldNumber(field: NumberField, text: string): number {
  const decimalOnly = field === 'mtu' || field === 'rate';
  const number = parseNumber(text);
  // Text that is no number goes to the check as it is, which refuses it and says what it accepts.
  const value = number ?? (text as unknown as number);
  checked(() => canonicalRecord({ [field]: value }), decimalOnly ? '' : ', decimal or 0x hex');
  return value;
}

/**
 * One join state, or several separated by commas.
 *
 * @throws InvalidArgumentError that says what is accepted.
 */
export function joinStates(text: string): readonly JoinState[] {
  const states = text.split(',').map((state) => state.trim()) as JoinState[];
  checked(() => canonicalRecord({ joinState: states }), ', or several separated by commas');
  return states;
}

/**
 * The number of a port.
 *
 * @throws InvalidArgumentError that says what is accepted.
 */
export function portNumber(text: string): number {
  const value = parseNumber(text) ?? (text as unknown as number);
  checked(() => {
    checkPort(value);
  }, '');
  return value;
}
