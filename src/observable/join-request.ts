import { asyncScheduler } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { parseIpGroup } from '../address/ip-group.js';
import type { MulticastProvider } from '../contract/provider.js';
import type { Arg, JoinRequest } from '../contract/request.js';
import type { SaClient } from '../contract/sa-client.js';
import { canonicalRecord } from '../records/canonical-record.js';
import { MC_MEMBER_MASK_ALL, recordComponentMask } from '../records/component-mask.js';
import { shown } from '../errors/shown.js';
import { nameOneOf } from '../records/field-checks.js';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import { checkDuration, checkScheduler } from './time-options.js';
import type { DurationRule } from './time-options.js';

/** A request whose every field was checked, with defaults filled in; nothing is chosen or opened yet. */
export interface CheckedJoinRequest<C> {
  readonly provider: MulticastProvider | undefined;
  readonly client: SaClient | undefined;
  readonly device: string | undefined;
  readonly port: number | undefined;
  readonly record: Readonly<McMemberRecordInit>;
  readonly group: string | undefined;
  readonly componentMask: bigint;
  readonly inherit: boolean;
  readonly joinTimeoutMs: number;
  readonly scheduler: SchedulerLike;
  readonly context: C | undefined;
}

const FIELDS: readonly string[] = [
  'provider',
  'client',
  'device',
  'port',
  'record',
  'group',
  'componentMask',
  'inherit',
  'joinTimeoutMs',
  'scheduler',
  'context',
] satisfies readonly (keyof JoinRequest)[];

const JOIN_TIMEOUT: DurationRule = { byDefault: 15_000, zero: false, infinity: true };

function checkObject(name: string, value: unknown, methods: readonly string[]): void {
  const target = value as Record<string, unknown> | null;
  if (
    (typeof value !== 'object' && typeof value !== 'function') ||
    target === null ||
    !methods.every((method) => typeof target[method] === 'function')
  ) {
    throw new TypeError(
      `${name} is ${shown(value)}; expected an object with ${methods.join(' and ')}`,
    );
  }
}

/** Checks that a value is a provider. */
export function checkProvider(value: MulticastProvider): void {
  checkObject('provider', value, ['joinMulticast', 'freeMulticast']);
}

/** Checks that a value is the name of a device. */
export function checkDevice(value: string): void {
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(
      `device is ${shown(value)}; expected the name of an RDMA device, for example 'mlx5_0'`,
    );
  }
}

/** Checks that a value is the number of a port. */
export function checkPort(value: number): void {
  const accepted = 'expected an integer from 1 to 255';
  if (typeof value !== 'number') throw new TypeError(`port is ${shown(value)}; ${accepted}`);
  if (!Number.isInteger(value) || value < 1 || value > 255) {
    throw new RangeError(`port is ${String(value)}; ${accepted}`);
  }
}

function checkMask(value: bigint): void {
  const accepted = `expected a bigint from 0n to 0x${MC_MEMBER_MASK_ALL.toString(16)}n`;
  if (typeof value !== 'bigint') {
    throw new TypeError(`componentMask is ${shown(value)}; ${accepted}`);
  }
  if (value < 0n || value > MC_MEMBER_MASK_ALL) {
    throw new RangeError(`componentMask is ${String(value)}n; ${accepted}`);
  }
}

function canonicalGroup(value: string): string {
  try {
    return parseIpGroup(value).text;
  } catch (error) {
    const text = `group: ${(error as Error).message}`;
    throw error instanceof RangeError ? new RangeError(text) : new TypeError(text);
  }
}

/** A request, or what its factory makes. */
export function requestOf<C>(request: Arg<JoinRequest<C>>): JoinRequest<C> {
  return typeof request === 'function' ? request() : request;
}

/**
 * Checks a request and fills in its defaults. Fields that are `undefined` count as absent.
 *
 * @param known A record in canonical form: that of an earlier attempt, most often the same again.
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function checkJoinRequest<C>(
  request: JoinRequest<C>,
  known?: Readonly<McMemberRecordInit>,
): CheckedJoinRequest<C> {
  if ((request as unknown) instanceof Promise) {
    // It may reject, and nobody is going to wait for that.
    (request as unknown as Promise<unknown>).catch(() => undefined);
    throw new TypeError('the request is a Promise; expected a request (await first, then join)');
  }
  if (typeof request !== 'object' || (request as unknown) === null) {
    throw new TypeError(
      `the request is ${shown(request)}; expected an object with record.mgid or group`,
    );
  }
  for (const key in request) {
    if (!FIELDS.includes(key) && Object.hasOwn(request, key)) {
      throw new TypeError(`${key} is no field of a join request; fields: ${FIELDS.join(', ')}`);
    }
  }
  const { provider, client, device, port, group, componentMask } = request;
  if (client !== undefined) {
    checkObject('client', client, ['unregister']);
    const excluded = (['provider', 'device', 'port'] as const).find(
      (name) => request[name] !== undefined,
    );
    if (excluded !== undefined) {
      throw new TypeError(
        `${excluded} is given beside client; a client has its own provider, device and port`,
      );
    }
  }
  if (provider !== undefined) checkProvider(provider);
  if (device !== undefined) checkDevice(device);
  if (port !== undefined) checkPort(port);
  const record = canonicalRecord(
    request.record === undefined ? {} : request.record,
    'record.',
    known,
  );
  if (group !== undefined && record.mgid !== undefined) {
    throw new TypeError('group and record.mgid are both given; expected one of them');
  }
  if (group === undefined && record.mgid === undefined) {
    throw new TypeError(
      "neither record.mgid nor group is given; expected an MGID such as 'ff12:401b:ffff::1' or an IP multicast address such as '239.1.2.3'",
    );
  }
  if (group !== undefined && record.pkey !== undefined && (record.pkey & 0x7fff) === 0) {
    throw new RangeError(
      `record.pkey is 0x${record.pkey.toString(16)}; beside a group expected an integer from 1 to 0xffff, except 0x8000`,
    );
  }
  if (componentMask !== undefined) checkMask(componentMask);
  if (request.inherit !== undefined) {
    nameOneOf('inherit', request.inherit, ['broadcast']);
    if (componentMask !== undefined) {
      throw new TypeError(
        'componentMask is given beside inherit, which decides the fields; expected one of them',
      );
    }
  }
  return {
    provider,
    client,
    device,
    port,
    record,
    group: group === undefined ? undefined : canonicalGroup(group),
    componentMask: componentMask ?? recordComponentMask(record),
    inherit: request.inherit === 'broadcast',
    joinTimeoutMs: checkDuration('joinTimeoutMs', request.joinTimeoutMs, JOIN_TIMEOUT),
    scheduler: checkScheduler(request.scheduler, asyncScheduler),
    context: request.context,
  };
}
