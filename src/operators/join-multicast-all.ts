import { inspect } from 'node:util';
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
import { MulticastError } from '../errors/multicast-error.js';
import { joinMulticast$ } from '../observable/join-multicast.js';
import { checkJoinRequest } from '../observable/join-request.js';
import { JoinWindow } from './join-window.js';

/** A set of requests, or an Observable of sets that follow each other. */
export type JoinRequests<C> =
  Iterable<Arg<JoinRequest<C>>> | Observable<Iterable<Arg<JoinRequest<C>>>>;

/** How many groups are joined. */
export interface JoinAllOptions<C> {
  /**
   * Joins in their joining phase at a time, rejoins of `each` included; the others wait. An integer
   * from 1, or `Infinity`. Default `Infinity`. The time spent waiting is not part of `joinTimeoutMs`.
   */
  concurrency?: number;
  /** Applied to the stream of each group, for example `rejoinOnReset()`. */
  each?: (group: Observable<MulticastEvent<C>>) => Observable<MulticastEvent<C>>;
  /**
   * What makes two requests the same group. Default: provider, device, port and MGID, or the IP group.
   * Keys are compared as those of a Map.
   */
  key?: (request: JoinRequest<C>) => unknown;
}

/** One group of a set. */
interface Wanted<C> {
  readonly key: unknown;
  /** Two requests with the same terms are the same join. */
  readonly terms: string;
  readonly request: Arg<JoinRequest<C>>;
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

function wantedSet<C>(
  requests: Iterable<Arg<JoinRequest<C>>>,
  keyOf: JoinAllOptions<C>['key'],
): Map<unknown, Wanted<C>> {
  const wanted = new Map<unknown, Wanted<C>>();
  for (const request of requests) {
    const value = typeof request === 'function' ? request() : request;
    const { client, provider, device, port, record, group, componentMask } =
      checkJoinRequest(value);
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
    const terms = JSON.stringify([record, group, componentMask.toString()]);
    wanted.set(key, { key, terms, request });
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
 * @throws TypeError or RangeError for options that are not as documented.
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
  const { concurrency = Infinity, each, key } = options;
  if (typeof concurrency !== 'number') {
    throw new TypeError(
      `concurrency is ${inspect(concurrency)}; expected an integer from 1, or Infinity`,
    );
  }
  if (concurrency !== Infinity && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new RangeError(
      `concurrency is ${String(concurrency)}; expected an integer from 1, or Infinity`,
    );
  }
  const sets$ = isObservable(requests) ? requests : of(requests);

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

    const eventsOf = ({ key: name, request }: Wanted<C>): Observable<MulticastEvent<C>> => {
      const events$ = window.gate(joinMulticast$(request) as Observable<MulticastEvent<C>>);
      return (each === undefined ? events$ : each(events$)).pipe(
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
