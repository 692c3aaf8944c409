import { canonicalGid } from '../address/gid.js';
import { SELECTORS } from './canonical-record.js';
import { shown } from '../errors/shown.js';
import {
  bigintIn,
  booleanOf,
  checkKnownFields,
  gidText,
  integerIn,
  nameOneOf,
  numberOneOf,
} from './field-checks.js';
import { PATH_FIELDS } from './path-record.js';
import type { PathField, PathRecordInit, RocePathRecord } from './path-record.js';
import { MTU_BYTES, RATES_GBPS, mtuCode, rateCode } from './units.js';

const LIMITS: ReadonlyMap<PathField, number> = new Map([
  ['dlid', 0xffff],
  ['slid', 0xffff],
  ['flowLabel', 0xfffff],
  ['hopLimit', 0xff],
  ['trafficClass', 0xff],
  ['numbPath', 0x7f],
  ['pkey', 0xffff],
  ['qosClass', 0xfff],
  ['sl', 15],
  ['packetLifeTime', 63],
  ['preference', 0xff],
]);

/** What each selector selects. */
const SELECTED: ReadonlyMap<PathField, PathField> = new Map([
  ['mtuSelector', 'mtu'],
  ['rateSelector', 'rate'],
  ['packetLifeTimeSelector', 'packetLifeTime'],
]);

function fieldValue(field: PathField, name: string, value: unknown): unknown {
  switch (field) {
    case 'serviceId':
      return bigintIn(name, value, 2n ** 64n - 1n);
    case 'dgid':
    case 'sgid':
      return gidText(name, value, canonicalGid);
    case 'rawTraffic':
    case 'reversible':
      return booleanOf(name, value);
    case 'mtu':
      return numberOneOf(name, value, 'bytes', MTU_BYTES);
    case 'rate':
      return numberOneOf(name, value, 'Gb/s', RATES_GBPS);
    case 'mtuSelector':
    case 'rateSelector':
    case 'packetLifeTimeSelector':
      return nameOneOf(name, value, SELECTORS);
    default:
      return integerIn(name, value, 0, LIMITS.get(field) ?? 0);
  }
}

/**
 * The fields of a PathRecord in canonical form: GIDs in canonical text, `'exactly'` beside every
 * value without a selector, in mask order, frozen. Fields that are `undefined` count as absent.
 *
 * @param path Stands before the field names in messages, `'record.'` for example.
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function canonicalPath(init: Readonly<PathRecordInit>, path = ''): Readonly<PathRecordInit> {
  checkKnownFields(init, PATH_FIELDS, path, 'PathRecord');
  const record: Partial<Record<PathField, unknown>> = {};
  for (const field of PATH_FIELDS) {
    const value: unknown = init[field];
    if (value !== undefined) record[field] = fieldValue(field, path + field, value);
    else {
      const selected = SELECTED.get(field);
      if (selected !== undefined && init[selected] !== undefined) record[field] = 'exactly';
    }
  }
  return Object.freeze(record) as Readonly<PathRecordInit>;
}

/** The fields of a RoCE path: those of any path but LIDs and raw traffic, and its own three. */
export interface RocePathRecordInit extends Omit<PathRecordInit, 'dlid' | 'slid' | 'rawTraffic'> {
  dgid: string;
  sgid: string;
  /** Default 2. */
  version?: 1 | 2;
  /** Six bytes in hexadecimal, separated by colons or dashes. */
  dmac: string;
  /** Default true. */
  routeResolved?: boolean;
}

function macText(value: unknown): string {
  const text = typeof value === 'string' ? value.toLowerCase().replaceAll('-', ':') : '';
  if (/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(text)) return text;
  const message = `dmac is ${shown(value)}; expected six bytes such as '02:00:00:00:00:01'`;
  throw typeof value === 'string' ? new RangeError(message) : new TypeError(message);
}

/**
 * Makes the record of a path between RoCE ports, for a program that knows route and neighbour.
 * Absent fields are 0, and hop limit 64.
 *
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function rocePathRecord(init: Readonly<RocePathRecordInit>): RocePathRecord {
  const own = ['version', 'dmac', 'routeResolved'];
  const foreign = ['dlid', 'slid', 'rawTraffic'];
  checkKnownFields(
    init,
    [...PATH_FIELDS.filter((field) => !foreign.includes(field)), ...own],
    '',
    'RoCE path',
  );
  const { version = 2, dmac, routeResolved = true, ...rest } = init;
  const fields = canonicalPath(rest);
  const { mtu = 0, rate = 0 } = fields;
  return Object.freeze({
    type: 'roce',
    version: numberOneOf('version', version, 'RoCE', [1, 2]) as 1 | 2,
    serviceId: fields.serviceId ?? 0n,
    dgid: gidText('dgid', rest.dgid, canonicalGid),
    sgid: gidText('sgid', rest.sgid, canonicalGid),
    dmac: macText(dmac),
    routeResolved: booleanOf('routeResolved', routeResolved),
    flowLabel: fields.flowLabel ?? 0,
    hopLimit: fields.hopLimit ?? 64,
    trafficClass: fields.trafficClass ?? 0,
    reversible: fields.reversible ?? false,
    numbPath: fields.numbPath ?? 0,
    pkey: fields.pkey ?? 0,
    qosClass: fields.qosClass ?? 0,
    sl: fields.sl ?? 0,
    mtu,
    mtuCode: mtuCode(mtu) ?? 0,
    mtuSelector: fields.mtuSelector ?? 'exactly',
    rate,
    rateCode: rateCode(rate) ?? 0,
    rateSelector: fields.rateSelector ?? 'exactly',
    packetLifeTime: fields.packetLifeTime ?? 0,
    packetLifeTimeSelector: fields.packetLifeTimeSelector ?? 'exactly',
    preference: fields.preference ?? 0,
  });
}
