import { canonicalGid, isSameGid } from '../address/gid.js';
import { canonicalMgid } from '../address/mgid.js';
import { MC_MEMBER_FIELDS } from './component-mask.js';
import type { McMemberField } from './component-mask.js';
import { shown } from '../errors/shown.js';
import {
  booleanOf,
  checkKnownFields,
  gidText,
  integerIn,
  nameOneOf,
  numberOneOf,
} from './field-checks.js';
import { JOIN_STATES, joinStateBits, joinStatesOf } from './join-states.js';
import type { JoinState, McMemberRecordInit, Selector } from './mc-member-record.js';
import { MTU_BYTES, RATES_GBPS } from './units.js';

/** The selectors in the order of their codes on the wire, from 0. */
export const SELECTORS = [
  'greater-than',
  'less-than',
  'exactly',
  'largest-available',
] as const satisfies readonly Selector[];

const LIMITS: Readonly<Partial<Record<McMemberField, { min: number; max: number }>>> = {
  qkey: { min: 0, max: 0xffffffff },
  mlid: { min: 0xc000, max: 0xfffe },
  trafficClass: { min: 0, max: 0xff },
  pkey: { min: 0, max: 0xffff },
  packetLifeTime: { min: 0, max: 63 },
  sl: { min: 0, max: 15 },
  flowLabel: { min: 0, max: 0xfffff },
  hopLimit: { min: 0, max: 0xff },
  scope: { min: 0, max: 15 },
};

const FULL_MEMBER = joinStatesOf(joinStateBits('full-member'));

function joinStates(name: string, value: unknown): readonly JoinState[] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (given.length === 0) {
    throw new RangeError(
      `${name} is empty; expected one or several of ${JOIN_STATES.map(shown).join(', ')}`,
    );
  }
  return joinStatesOf(joinStateBits(given.map((state) => nameOneOf(name, state, JOIN_STATES))));
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
      // What nearly every request has.
      return value === 'full-member' ? FULL_MEMBER : joinStates(name, value);
    case 'proxyJoin':
      return booleanOf(name, value);
    default: {
      const { min, max } = LIMITS[field] ?? { min: 0, max: 0 };
      return integerIn(name, value, min, max);
    }
  }
}

/** What stands for a field that was not given. */
function defaultOf(
  field: McMemberField,
  given: Readonly<Partial<Record<McMemberField, unknown>>>,
): unknown {
  switch (field) {
    case 'joinState':
      return 'full-member';
    case 'mtuSelector':
      return given.mtu === undefined ? undefined : 'exactly';
    case 'rateSelector':
      return given.rate === undefined ? undefined : 'exactly';
    case 'packetLifeTimeSelector':
      return given.packetLifeTime === undefined ? undefined : 'exactly';
    default:
      return undefined;
  }
}

/** Whether a record is the canonical form of what is given; false for the rarer spellings. */
function isForm(
  known: Readonly<Partial<Record<McMemberField, unknown>>>,
  given: Readonly<Partial<Record<McMemberField, unknown>>>,
): boolean {
  for (let bit = 0; bit < MC_MEMBER_FIELDS.length; bit += 1) {
    const field = MC_MEMBER_FIELDS[bit];
    if (field === undefined) continue;
    const value = given[field] === undefined ? defaultOf(field, given) : given[field];
    const form = known[field];
    const same =
      form === value ||
      (form === FULL_MEMBER && value === 'full-member') ||
      ((field === 'mgid' || field === 'portGid') && isSameGid(value, form));
    if (!same) return false;
  }
  return true;
}

// Made once: each join checks its record, and hardly any needs the names.
const RECORD_PATH = 'record.';
const RECORD_NAMES = MC_MEMBER_FIELDS.map((field) => RECORD_PATH + field);

/**
 * A record of a request in canonical form: GIDs in canonical text, `joinState` a list in the order
 * of the bits and `['full-member']` by default, `'exactly'` beside every value without a selector.
 * Fields that are `undefined` count as absent. The result is frozen, its fields are in mask order.
 *
 * @param path Stands before the field names in messages, `'record.'` for example.
 * @param known A record in canonical form, which is returned if the result would be the same.
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function canonicalRecord(
  init: Readonly<McMemberRecordInit>,
  path: '' | typeof RECORD_PATH = '',
  known?: Readonly<McMemberRecordInit>,
): Readonly<McMemberRecordInit> {
  checkKnownFields(init, MC_MEMBER_FIELDS, path, 'MCMemberRecord');
  const given: Readonly<Partial<Record<McMemberField, unknown>>> = init;
  if (known !== undefined && isForm(known, given)) return known;
  const record: Partial<Record<McMemberField, unknown>> = {};
  const names = path === RECORD_PATH ? RECORD_NAMES : MC_MEMBER_FIELDS;
  for (let bit = 0; bit < MC_MEMBER_FIELDS.length; bit += 1) {
    const field = MC_MEMBER_FIELDS[bit];
    if (field === undefined) continue;
    const value = given[field] === undefined ? defaultOf(field, given) : given[field];
    if (value !== undefined) record[field] = fieldValue(field, names[bit] ?? field, value);
  }
  return Object.freeze(record) as Readonly<McMemberRecordInit>;
}
