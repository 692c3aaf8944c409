import { canonicalGid } from '../address/gid.js';
import { canonicalMgid } from '../address/mgid.js';
import { MC_MEMBER_FIELDS } from './component-mask.js';
import type { McMemberField } from './component-mask.js';
import {
  booleanOf,
  checkKnownFields,
  gidText,
  integerIn,
  nameOneOf,
  numberOneOf,
  shown,
} from './field-checks.js';
import type { JoinState, McMemberRecordInit, Selector } from './mc-member-record.js';
import { MTU_BYTES, RATES_GBPS } from './units.js';

/** The join states in the order of their bits, from bit 0. */
export const JOIN_STATES = [
  'full-member',
  'non-member',
  'send-only-non-member',
  'send-only-full-member',
] as const satisfies readonly JoinState[];

/** The selectors in the order of their codes on the wire, from 0. */
export const SELECTORS = [
  'greater-than',
  'less-than',
  'exactly',
  'largest-available',
] as const satisfies readonly Selector[];

const LIMITS: ReadonlyMap<McMemberField, readonly [min: number, max: number]> = new Map([
  ['qkey', [0, 0xffffffff]],
  ['mlid', [0xc000, 0xfffe]],
  ['trafficClass', [0, 0xff]],
  ['pkey', [0, 0xffff]],
  ['packetLifeTime', [0, 63]],
  ['sl', [0, 15]],
  ['flowLabel', [0, 0xfffff]],
  ['hopLimit', [0, 0xff]],
  ['scope', [0, 15]],
]);

function joinStates(name: string, value: unknown): readonly JoinState[] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (given.length === 0) {
    throw new RangeError(
      `${name} is empty; expected one or several of ${JOIN_STATES.map(shown).join(', ')}`,
    );
  }
  const states = new Set(given.map((state) => nameOneOf(name, state, JOIN_STATES)));
  return Object.freeze(JOIN_STATES.filter((state) => states.has(state)));
}

function fieldValue(field: McMemberField, name: string, value: unknown): unknown {
  switch (field) {
    case 'mgid':
      return gidText(name, value, canonicalMgid);
    case 'portGid':
      return gidText(name, value, canonicalGid);
    case 'mtu':
      return numberOneOf(name, value, 'bytes', MTU_BYTES);
    case 'rate':
      return numberOneOf(name, value, 'Gb/s', RATES_GBPS);
    case 'mtuSelector':
    case 'rateSelector':
    case 'packetLifeTimeSelector':
      return nameOneOf(name, value, SELECTORS);
    case 'joinState':
      return joinStates(name, value);
    case 'proxyJoin':
      return booleanOf(name, value);
    default: {
      const [min, max] = LIMITS.get(field) ?? [0, 0];
      return integerIn(name, value, min, max);
    }
  }
}

/**
 * A record of a request in canonical form: GIDs in canonical text, `joinState` a list in the order
 * of the bits and `['full-member']` by default, `'exactly'` beside every value without a selector.
 * Fields that are `undefined` count as absent. The result is frozen, its fields are in mask order.
 *
 * @param path Stands before the field names in messages, `'record.'` for example.
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function canonicalRecord(
  init: Readonly<McMemberRecordInit>,
  path = '',
): Readonly<McMemberRecordInit> {
  checkKnownFields(init, MC_MEMBER_FIELDS, path, 'MCMemberRecord');
  const given: Partial<Record<McMemberField, unknown>> = { ...init };
  if (given.joinState === undefined) given.joinState = 'full-member';
  for (const field of ['mtu', 'rate', 'packetLifeTime'] as const) {
    const selector = `${field}Selector` as const;
    if (given[field] !== undefined && given[selector] === undefined) given[selector] = 'exactly';
  }
  const record: Partial<Record<McMemberField, unknown>> = {};
  for (const field of MC_MEMBER_FIELDS) {
    const value = given[field];
    if (value !== undefined) record[field] = fieldValue(field, path + field, value);
  }
  return Object.freeze(record) as Readonly<McMemberRecordInit>;
}
