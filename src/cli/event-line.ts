import type { MulticastEvent } from '../contract/event.js';
import type { MulticastError } from '../errors/multicast-error.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { hex } from './numbers.js';

/** What the library's messages call a thing, and what it is called here. */
const FLAG_WORDING: readonly (readonly [api: string, flag: string])[] = [
  ['joinTimeoutMs', '--join-timeout'],
  ['requestTimeoutMs', '--request-timeout'],
  ['auditIntervalMs', '--audit-interval'],
  ['give the missing fields', 'give the missing flags'],
  ["inherit: 'broadcast'", '--inherit'],
  ['pass provider: embeddedFabric()', 'use --provider embedded'],
  [' (see rejoinOnReset)', ' (see --rejoin)'],
  ["; ask for fewer, or pass truncated: 'complete'", ''],
];

/** A message of the library in the words of the command line. */
export function inFlagWording(message: string): string {
  return FLAG_WORDING.reduce((text, [api, flag]) => text.replaceAll(api, flag), message);
}

/** The time since the start, as every line of an event begins. */
export function elapsedText(elapsedMs: number): string {
  return `${(elapsedMs / 1000).toFixed(3)}s`.padStart(10);
}

/** The fields of a record that have a flag, and the flag. */
const FIELD_FLAGS: Readonly<Record<string, string>> = {
  qkey: '--qkey',
  pkey: '--pkey',
  mtu: '--mtu',
  rate: '--rate',
  sl: '--sl',
  trafficClass: '--traffic-class',
  flowLabel: '--flow-label',
  joinState: '--join-state',
};

/** The list of fields at the end of a message, as flags. A field without a flag keeps its name. */
function withFlags(message: string, fields: readonly string[] = []): string {
  const list = `; fields: ${fields.join(', ')}`;
  if (fields.length === 0 || !message.endsWith(list)) return message;
  const flags = fields.map((field) => FIELD_FLAGS[field] ?? field);
  return `${message.slice(0, -list.length)}; flags: ${flags.join(', ')}`;
}

/** One event as a JSON object without line breaks. */
export function jsonLine(event: MulticastEvent<unknown>, mgid: string | undefined): string {
  const { type, status } = event;
  if (event.type === 'joined') {
    return JSON.stringify({ type, status, mgid: event.record.mgid, record: event.record });
  }
  const { error } = event;
  const { code, saStatus, saStatusName, reason, message } = error;
  return JSON.stringify({
    type,
    status,
    mgid: error.mgid ?? mgid,
    code,
    saStatus,
    saStatusName,
    reason,
    message,
  });
}

/** Without the Q_Key: lines like these end up in logs, and whoever wants it asks for JSON. */
function recordText(record: McMemberRecord): string {
  return [
    `mlid ${hex(record.mlid)}`,
    // A code that the specification does not define has no value.
    record.mtu > 0 ? `mtu ${String(record.mtu)}` : `mtu code ${String(record.mtuCode)}`,
    record.rate > 0 ? `rate ${String(record.rate)} Gb/s` : `rate code ${String(record.rateCode)}`,
    `pkey ${hex(record.pkey, 4)}`,
    `sl ${String(record.sl)}`,
    record.joinState.join(','),
  ].join('  ');
}

/** The message without what stands in columns of its own before it. */
function messageText(error: MulticastError, mgid: string | undefined): string {
  const marker = `${error.code}: `;
  const at = error.message.indexOf(marker);
  const place = error.message.slice(0, Math.max(at, 0));
  const redundant = at >= 0 && (place === '' || place.startsWith(mgid ?? '\0'));
  const message = redundant ? error.message.slice(at + marker.length) : error.message;
  return inFlagWording(withFlags(message, error.fields));
}

/** One event as an aligned line for people: time since start, type, group, and what is known. */
export function humanLine(
  event: MulticastEvent<unknown>,
  mgid: string | undefined,
  elapsedMs: number,
): string {
  const time = elapsedText(elapsedMs);
  const type = event.type.padEnd('joined'.length);
  if (event.type === 'joined') {
    return `${time}  ${type}  ${event.record.mgid}  ${recordText(event.record)}`;
  }
  const { error } = event;
  const what = [error.code, ...(error.reason === undefined ? [] : [error.reason])].join(' ');
  const group = error.mgid ?? mgid;
  return [
    time,
    type,
    ...(group === undefined ? [] : [group]),
    `${what}: ${messageText(error, group)}`,
  ].join('  ');
}
