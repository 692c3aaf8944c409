import { Observable } from 'rxjs';
import { canonicalMgid } from '../address/mgid.js';
import type { MulticastHandle } from '../contract/provider.js';
import type { QueryCompletion, SaRecordKind, SaRecords } from '../contract/query.js';
import type { Arg } from '../contract/request.js';
import { Errno } from '../errors/errno.js';
import { failureMessage, QUERY_ADVICE } from '../errors/failure-message.js';
import { MulticastError } from '../errors/multicast-error.js';
import { wrapThrown } from '../errors/wrap-thrown.js';
import { canonicalPath } from '../records/canonical-path.js';
import { canonicalService } from '../records/canonical-service.js';
import { componentMaskOf } from '../records/component-mask.js';
import { shown } from '../errors/shown.js';
import { bigintIn, gidText, nameOneOf } from '../records/field-checks.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { pathComponentMask } from '../records/path-record.js';
import type { InfiniBandPathRecord, PathRecordInit } from '../records/path-record.js';
import { serviceComponentMask } from '../records/service-record.js';
import type { ServiceRecord, ServiceRecordInit } from '../records/service-record.js';
import { freeHandle } from './free-handle.js';
import { checkPlace, choosePlace, PLACE_OPTIONS } from './place.js';
import type { Place, PlaceOptions } from './place.js';

/** Where and how to ask. */
export interface QueryOptions extends PlaceOptions {
  /**
   * The key of the subnet administrator: without it the members of groups are not told, nor the keys
   * of services. Default 0n: none.
   */
  smKey?: bigint;
  /**
   * What comes after the records when there were more than the transport could carry: `'error'`
   * (default), a MulticastError EMSGSIZE, or `'complete'`.
   */
  truncated?: 'error' | 'complete';
}

const QUERY_OPTIONS = [...PLACE_OPTIONS, 'smKey', 'truncated'] as const;

interface CheckedQuery<K extends SaRecordKind> {
  readonly kind: K;
  readonly options: QueryOptions;
  readonly record: Readonly<SaRecords[K]['asked']>;
  readonly componentMask: bigint;
  readonly smKey: bigint;
}

/** What was asked, for messages. */
const SUBJECTS: Readonly<Record<SaRecordKind, string>> = {
  'path-record': 'path',
  'mc-member-record': 'multicast',
  'service-record': 'service',
};

function checkOptions(options: QueryOptions): bigint {
  checkPlace(options);
  if (options.truncated !== undefined) {
    nameOneOf('truncated', options.truncated, ['error', 'complete']);
  }
  const { smKey = 0n } = options;
  return bigintIn('smKey', smKey, 2n ** 64n - 1n);
}

/** Options and record fields stand in one object; these are the options. */
function split<T extends object>(
  given: T & QueryOptions,
): [QueryOptions, Omit<T, keyof QueryOptions>] {
  if (typeof given !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new TypeError(`the query is ${shown(given)}; expected an object`);
  }
  const names: readonly string[] = QUERY_OPTIONS;
  const options: Record<string, unknown> = {};
  // So that a field called '__proto__' is refused like any other.
  const fields = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    if (names.includes(name)) options[name] = value;
    else fields[name] = value;
  }
  return [options, fields as Omit<T, keyof QueryOptions>];
}

function placeDetails({ device, port }: { device?: string; port?: number }): {
  device?: string;
  port?: number;
} {
  if (device === undefined) return port === undefined ? {} : { port };
  return port === undefined ? { device } : { device, port };
}

/** One subscription: one query, one handle, freed exactly once. */
function start<K extends SaRecordKind>(
  subscriber: {
    readonly closed: boolean;
    next(record: SaRecords[K]['reported']): void;
    error(error: unknown): void;
    complete(): void;
    add(teardown: () => void): unknown;
  },
  checked: CheckedQuery<K>,
): void {
  const { kind, options, record, componentMask, smKey } = checked;
  const syscall = 'querySubnetAdministrator';
  let place: Place;
  try {
    place = choosePlace(options, 'query');
  } catch (thrown) {
    subscriber.error(wrapThrown(thrown, placeDetails(options)));
    return;
  }
  const { provider, scope } = place;
  const where = placeDetails(place);
  if (provider.query === undefined) {
    subscriber.error(
      new MulticastError(
        `the provider '${provider.name}' cannot ask a subnet administrator; use umad() or embeddedFabric()`,
        { status: Errno.EOPNOTSUPP, syscall, ...where },
      ),
    );
    return;
  }
  let handle: { readonly value: MulticastHandle } | undefined;
  let early: QueryCompletion<K> | undefined;
  let over = false;
  const what = `${SUBJECTS[kind]} query`;
  const free = (): void => {
    over = true;
    if (handle === undefined) return;
    const { value } = handle;
    handle = undefined;
    freeHandle(provider, value, where);
    scope?.end(what);
  };
  const finish = (completion: QueryCompletion<K>): void => {
    if (over) return;
    // Freed before anybody is told, as a join is.
    free();
    const { status, records, truncated, saStatus, message } = completion;
    if (status !== 0 || records === undefined) {
      const details = {
        status: status === 0 ? Errno.EPROTO : status,
        saStatus,
        syscall,
        ...where,
      };
      subscriber.error(
        new MulticastError(message ?? failureMessage(details, undefined, QUERY_ADVICE), details),
      );
      return;
    }
    let count = 0;
    for (const one of records) {
      if (subscriber.closed) return;
      count += 1;
      subscriber.next(one);
    }
    if (truncated === true && options.truncated !== 'complete') {
      subscriber.error(
        new MulticastError(
          `EMSGSIZE: there are more records than the ${String(count)} that the transport could carry; ask for fewer, or pass truncated: 'complete'`,
          { status: Errno.EMSGSIZE, syscall, ...where },
        ),
      );
      return;
    }
    subscriber.complete();
  };
  subscriber.add(free);
  scope?.begin(what);
  try {
    handle = {
      value: provider.query({ kind, record, componentMask, smKey, ...where }, (completion) => {
        if (handle === undefined && !over) early = completion;
        else finish(completion);
      }),
    };
  } catch (thrown) {
    over = true;
    scope?.end(what);
    subscriber.error(wrapThrown(thrown, where));
    return;
  }
  // Unsubscribed, or answered, while the provider was on the stack.
  if (over as boolean) free();
  else if (early !== undefined) finish(early);
}

function query$<K extends SaRecordKind>(
  check: () => CheckedQuery<K>,
): Observable<SaRecords[K]['reported']> {
  return new Observable((subscriber) => {
    let checked: CheckedQuery<K>;
    try {
      checked = check();
    } catch (misuse) {
      subscriber.error(misuse);
      return;
    }
    start(subscriber, checked);
  });
}

function evaluated<T>(arg: Arg<T>): T {
  return typeof arg === 'function' ? (arg as () => T)() : arg;
}

/**
 * The paths that fit the fields given: every field is asked for as it stands, a value without a
 * selector exactly. Usually `sgid` and `dgid`; without `sgid` paths from everywhere.
 *
 * Each subscription asks once, in the window and with the timeouts of the port. Records come one by
 * one, then completion; a failure is a MulticastError. Nothing found is completion without a record.
 *
 * @param query The fields, and where to ask; or a factory that is called once per subscription.
 */
export function queryPath$(
  query: Arg<PathRecordInit & QueryOptions>,
): Observable<InfiniBandPathRecord> {
  return query$(() => {
    const [options, fields] = split<PathRecordInit>(evaluated(query));
    const smKey = checkOptions(options);
    const record = canonicalPath(fields);
    return {
      kind: 'path-record',
      options,
      record,
      componentMask: pathComponentMask(record),
      smKey,
    };
  });
}

/** All groups of the fabric that the port may see, one record each. As `queryPath$`. */
export function queryGroups$(options: Arg<QueryOptions> = {}): Observable<McMemberRecord> {
  return query$(() => {
    const [chosen, rest] = split<object>(evaluated(options));
    checkNothingElse(rest);
    checkOptions(chosen);
    // With the key a subnet administrator lists members instead of groups.
    return { kind: 'mc-member-record', options: chosen, record: {}, componentMask: 0n, smKey: 0n };
  });
}

/**
 * The members of a group, one record each. Without `smKey` a subnet administrator tells only that
 * there is such a group: one record, with `portGid` `'::'` and no join state. As `queryPath$`.
 */
export function queryMembers$(
  mgid: string,
  options: Arg<QueryOptions> = {},
): Observable<McMemberRecord> {
  return query$(() => {
    const [chosen, rest] = split<object>(evaluated(options));
    checkNothingElse(rest);
    const smKey = checkOptions(chosen);
    const record = { mgid: gidText('mgid', mgid, canonicalMgid) };
    const componentMask = componentMaskOf(['mgid']);
    return { kind: 'mc-member-record', options: chosen, record, componentMask, smKey };
  });
}

/** The services that fit the fields given; all of them without any. As `queryPath$`. */
export function queryServices$(
  query: Arg<ServiceRecordInit & QueryOptions> = {},
): Observable<ServiceRecord> {
  return query$(() => {
    const [options, fields] = split<ServiceRecordInit>(evaluated(query));
    const smKey = checkOptions(options);
    const record = canonicalService(fields);
    return {
      kind: 'service-record',
      options,
      record,
      componentMask: serviceComponentMask(record),
      smKey,
    };
  });
}

function checkNothingElse(rest: object): void {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new TypeError(`${unknown} is no option of a query; options: ${QUERY_OPTIONS.join(', ')}`);
  }
}
