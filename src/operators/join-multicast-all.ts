import {
  catchError,
  concatMap,
  EMPTY,
  isObservable,
  map,
  mergeMap,
  NEVER,
  of,
  Subject,
  takeUntil,
  throwError,
} from 'rxjs';
import { Observable } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import type { Arg, JoinRequest } from '../contract/request.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import { joinMulticast$ } from '../observable/join-multicast.js';
import { checkJoinRequest, requestOf } from '../observable/join-request.js';
import { JoinWindow } from './join-window.js';
import { shown } from '../errors/shown.js';

/** A set of requests, or an Observable of sets that follow each other. */
export type JoinRequests<C> =
  Iterable<Arg<JoinRequest<C>>> | Observable<Iterable<Arg<JoinRequest<C>>>>;

/** How many groups are joined. */
export interface JoinAllOptions<C> {
  /**
   * Joins in their joining phase at a time, rejoins of `each` included; the others wait. An integer
   * from 1, or `Infinity`. Default `Infinity`. The time spent waiting is not part of `joinTimeoutMs`.
   */
  concurrency?: number | undefined;
  /** Applied to the stream of each group, for example `rejoinOnReset()`; told the group's request. */
  each?:
    | ((
        group: Observable<MulticastEvent<C>>,
        request: JoinRequest<C>,
      ) => Observable<MulticastEvent<C>>)
    | undefined;
  /**
   * What makes two requests the same group. Default: provider, device, port and MGID, or the IP group.
   * Keys are compared as those of a Map.
   */
  key?: ((request: JoinRequest<C>) => unknown) | undefined;
}

/** One group of a set. */
interface Wanted<C> {
  readonly key: unknown;
  /** Two requests with the same terms are the same join. */
  readonly terms: string;
  readonly request: Arg<JoinRequest<C>>;
  /** The request, or what its factory made first. */
  readonly value: JoinRequest<C>;
}

interface Group {
  readonly terms: string;
  readonly leave$: Subject<void>;
}

const providerNumbers = new WeakMap<object, number>();
let providersSeen = 0;

/** Providers have no identity that could be written into a key, so they are numbered. */
function providerNumber(provider: object | undefined): number {
  if (provider === undefined) return 0;
  let number = providerNumbers.get(provider);
  if (number === undefined) {
    providersSeen += 1;
    number = providersSeen;
    providerNumbers.set(provider, number);
  }
  return number;
}

/** Lets the first join use the request that its key was made of; a factory is for those after it. */
function usingFirst<C>(value: JoinRequest<C>, request: Arg<JoinRequest<C>>): Arg<JoinRequest<C>> {
  if (typeof request !== 'function') return value;
  let first: JoinRequest<C> | undefined = value;
  return () => {
    const made = first ?? request();
    first = undefined;
    return made;
  };
}

function checkIterable<T>(requests: Iterable<T>): Iterable<T> {
  if (
    typeof requests === 'object' &&
    (requests as unknown) !== null &&
    Symbol.iterator in requests
  ) {
    return requests;
  }
  throw new TypeError(
    `the requests are ${shown(requests)}; expected a list or another iterable of join requests, or an Observable of such`,
  );
}

function checkFunction(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new TypeError(`${name} is ${shown(value)}; expected a function`);
}

/** Checks one request of a list, and says which it was where it is wrong. */
function checkListed<C>(
  request: JoinRequest<C>,
  index: number,
): ReturnType<typeof checkJoinRequest<C>> {
  try {
    return checkJoinRequest(request);
  } catch (error) {
    const where = `requests[${String(index)}]`;
    if (error instanceof RangeError) throw new RangeError(`${where}: ${error.message}`);
    if (error instanceof TypeError) throw new TypeError(`${where}: ${error.message}`);
    throw error;
  }
}

function wantedSet<C>(
  requests: Iterable<Arg<JoinRequest<C>>>,
  keyOf: JoinAllOptions<C>['key'],
): Map<unknown, Wanted<C>> {
  const wanted = new Map<unknown, Wanted<C>>();
  let index = 0;
  for (const request of checkIterable(requests)) {
    const value = requestOf(request);
    const { client, provider, device, port, record, group, componentMask, inherit } = checkListed(
      value,
      index,
    );
    index += 1;
    const place = client ?? { provider, device, port };
    const key =
      keyOf === undefined
        ? JSON.stringify([
            providerNumber(place.provider),
            place.device,
            place.port,
            record.mgid,
            group,
          ])
        : keyOf(value);
    if (wanted.has(key)) continue;
    const terms = JSON.stringify([record, group, componentMask.toString(), inherit]);
    wanted.set(key, { key, terms, request: usingFirst(value, request), value });
  }
  return wanted;
}

/**
 * Joins many groups in one stream.
 *
 * A group's failure ends that group, with its event as last value, and leaves the others alone. The
 * stream completes when all groups have ended, and with an Observable of sets when that has completed
 * as well. Misuse, in a request or an option, and errors that are no MulticastError end the stream.
 *
 * Each set of an Observable replaces the one before: what is gone is left, what is new is joined, a
 * changed record is leave and join. A group that has ended is not new until a set was without it.
 *
 * @throws TypeError or RangeError for requests and options that are not as documented.
 */
export function joinMulticastAll$<C>(
  requests:
    | Iterable<Arg<JoinRequest<C> & { context: C }>>
    | Observable<Iterable<Arg<JoinRequest<C> & { context: C }>>>,
  options?: JoinAllOptions<C>,
): Observable<MulticastEvent<C>>;
export function joinMulticastAll$<C = undefined>(
  requests: JoinRequests<C>,
  options?: JoinAllOptions<C | undefined>,
): Observable<MulticastEvent<C | undefined>>;
export function joinMulticastAll$<C>(
  requests: JoinRequests<C>,
  options: JoinAllOptions<C> = {},
): Observable<MulticastEvent<C>> {
  checkKnownOptions(options, ['concurrency', 'each', 'key'], 'joinMulticastAll$()');
  const { concurrency = Infinity, each, key } = options;
  checkFunction('each', each);
  checkFunction('key', key);
  if (typeof concurrency !== 'number') {
    throw new TypeError(
      `concurrency is ${shown(concurrency)}; expected an integer from 1, or Infinity`,
    );
  }
  if (concurrency !== Infinity && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new RangeError(
      `concurrency is ${String(concurrency)}; expected an integer from 1, or Infinity`,
    );
  }
  const sets$ = isObservable(requests) ? requests : of(checkIterable(requests));

  return new Observable((subscriber) => {
    const window = new JoinWindow(concurrency);
    const groups = new Map<unknown, Group>();
    // Before everything else is torn down, which would make room for joins that are torn down next.
    subscriber.add(() => {
      window.close();
    });

    /** Leaves what is gone or changed, and gives what is to be joined. */
    const apply = (wanted: ReadonlyMap<unknown, Wanted<C>>): Wanted<C>[] => {
      window.hold(() => {
        for (const [name, group] of [...groups]) {
          if (wanted.get(name)?.terms === group.terms) continue;
          groups.delete(name);
          group.leave$.next();
        }
      });
      const added = [...wanted.values()].filter((one) => !groups.has(one.key));
      for (const { key: name, terms } of added) groups.set(name, { terms, leave$: new Subject() });
      return added;
    };

    const eventsOf = ({ key: name, request, value }: Wanted<C>): Observable<MulticastEvent<C>> => {
      const events$ = window.gate(joinMulticast$(request) as Observable<MulticastEvent<C>>);
      return (each === undefined ? events$ : each(events$, value)).pipe(
        catchError((error: unknown) =>
          error instanceof MulticastError ? EMPTY : throwError(() => error),
        ),
        takeUntil(groups.get(name)?.leave$ ?? NEVER),
      );
    };

    sets$
      .pipe(
        map((set) => wantedSet(set, key)),
        // A set that comes from within a handler waits here until the one before is applied in full.
        concatMap((wanted) => of(wanted)),
        mergeMap(apply),
        mergeMap(eventsOf),
      )
      .subscribe(subscriber);
  });
}
