import { Observable } from 'rxjs';
import type { Subscriber, Unsubscribable } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import type { JoinCompletion, MulticastHandle } from '../contract/provider.js';
import type { Arg, JoinRequest, ResolvedJoinRequest } from '../contract/request.js';
import { publishDiagnostic } from '../errors/diagnostics.js';
import type { DiagnosticMessage } from '../errors/diagnostics.js';
import { Errno } from '../errors/errno.js';
import { failureMessage } from '../errors/failure-message.js';
import { MulticastError, reportedError } from '../errors/multicast-error.js';
import type { MulticastErrorDetails } from '../errors/multicast-error.js';
import { RESET_REASONS } from '../errors/reset-reason.js';
import { wrapThrown } from '../errors/wrap-thrown.js';
import { freeHandle } from './free-handle.js';
import { inheriting, lookUpBroadcast } from './inherit.js';
import { currentChain, outsideOfChains, sealRequest } from './rejoin-chain.js';
import type { Pin } from './rejoin-chain.js';
import { requestOf } from './join-request.js';
import { resolveJoinRequest } from './resolve-join-request.js';
import type { Resolution } from './resolve-join-request.js';
import { clientScope } from './sa-client.js';
import type { ClientScope } from './sa-client.js';
import { startTimer } from './timers.js';

/** Stands where there is no handle, since a provider may take anything for one. */
const NO_HANDLE: MulticastHandle = Object.freeze({});

const NONE_YET: readonly JoinCompletion[] = [];

/** One subscription: one join, one handle, freed exactly once. */
class Join<C> {
  readonly #subscriber: Subscriber<MulticastEvent<C | undefined>>;
  #request: ResolvedJoinRequest<C | undefined>;
  readonly #scope: ClientScope | undefined;
  #handle = NO_HANDLE;
  #ended = false;
  #joined = false;
  /** The MGID joined: assigned or mapped ones are known only from the record. */
  #mgid: string | undefined;
  /** Completions that must wait, in order; present while joinMulticast or its aftermath runs. */
  #waiting: readonly JoinCompletion[] | undefined;
  #timer: Unsubscribable | undefined;
  #dropped = 0;
  /** Looking up what to inherit counts as being under way, as the join does afterwards. */
  #inScope = false;
  #endLookUp: (() => void) | undefined;

  constructor(subscriber: Subscriber<MulticastEvent<C | undefined>>, resolution: Resolution<C>) {
    this.#subscriber = subscriber;
    this.#request = resolution.request;
    this.#mgid = resolution.request.record.mgid;
    this.#scope = resolution.client === undefined ? undefined : clientScope(resolution.client);
  }

  /** Starts with the broadcast group whose fields the record inherits. */
  startInheriting(inherited: (request: ResolvedJoinRequest<C | undefined>) => void): void {
    this.#scope?.begin(this.#what);
    this.#inScope = true;
    // The time is for all of it.
    this.#startTimer();
    try {
      this.#endLookUp = lookUpBroadcast(this.#request, (found) => {
        this.#endLookUp = undefined;
        if (this.#ended) return;
        if (found instanceof MulticastError) {
          this.#fail(found);
          return;
        }
        this.#request = inheriting(this.#request, found);
        inherited(this.#request);
        this.start();
        // Only now, or a client that is being unregistered would see nothing under way in between.
        this.#leaveScope();
      });
    } catch (thrown) {
      this.#leaveScope();
      this.refuse(thrown);
      return;
    }
    if (this.#ended) this.unsubscribe();
  }

  /** What this join is called while a client waits for it. */
  get #what(): string {
    const { record, group } = this.#request;
    return `membership of ${record.mgid ?? group ?? 'a group'}`;
  }

  #leaveScope(): void {
    if (!this.#inScope) return;
    this.#inScope = false;
    this.#scope?.end(this.#what);
  }

  start(): void {
    const { provider } = this.#request;
    this.#waiting = NONE_YET;
    this.#scope?.begin(this.#what);
    let handle: MulticastHandle;
    try {
      handle = provider.joinMulticast(this.#request, (completion) => {
        if (this.#waiting === undefined) this.#complete(completion);
        else this.#waiting = [...this.#waiting, completion];
      });
    } catch (thrown) {
      // There is no handle, so nothing is freed, and what the provider has queued means nothing.
      this.#waiting = undefined;
      this.#scope?.end(this.#what);
      this.refuse(thrown);
      return;
    }
    this.#handle = handle;
    if (this.#ended) {
      // Unsubscribed while the provider was on the stack: there was no handle to free until now.
      this.#waiting = undefined;
      this.#free();
      return;
    }
    this.#completeWaiting();
    if (!this.#ended && !this.#joined) this.#startTimer();
  }

  #completeWaiting(): void {
    for (let done = 0; this.#waiting !== undefined; done += 1) {
      const waiting = this.#waiting;
      // The last one is handled with the queue closed, so that what it provokes is not held back.
      if (done + 1 >= waiting.length) this.#waiting = undefined;
      // What is no completion at all is dealt with there as well.
      if (done < waiting.length) this.#complete(waiting[done] as JoinCompletion);
    }
  }

  /** Ends the stream with what kept the join from starting. */
  refuse(thrown: unknown): void {
    const { device, port } = this.#request;
    this.#fail(wrapThrown(thrown, { device, port, mgid: this.#mgid }));
  }

  /** The subscriber's teardown: its unsubscription, and the end of the stream after a failure. */
  unsubscribe(): void {
    this.#ended = true;
    this.#stopTimer();
    this.#endLookUp?.();
    this.#endLookUp = undefined;
    this.#leaveScope();
    this.#free();
  }

  #complete(completion: JoinCompletion): void {
    // The seam is open to anyone, so nothing is taken for what its type says.
    const given = completion as Partial<JoinCompletion> | undefined;
    const status = given?.status;
    const record = given?.record;
    if (this.#ended) {
      this.#drop('rx-ib-multicast:late-completion', { status });
    } else if (status === undefined || !Number.isInteger(status)) {
      this.#failProtocol(`a completion with the status ${String(status)}, which is no integer`);
    } else if (status !== 0) {
      this.#failWith({ ...given, status });
    } else if (this.#joined) {
      this.#drop('rx-ib-multicast:duplicate-completion', { status });
    } else if (typeof record !== 'object' || (record as unknown) === null) {
      this.#failProtocol('success without a record');
    } else if (typeof record.mgid !== 'string') {
      this.#failProtocol('success with a record that has no MGID');
    } else {
      this.#joined = true;
      this.#stopTimer();
      this.#mgid = record.mgid;
      const request = this.#request;
      const { context } = request;
      const addressHandle = given?.addressHandle;
      this.#subscriber.next(
        addressHandle === undefined
          ? { type: 'joined', status: 0, record, request, context }
          : { type: 'joined', status: 0, record, addressHandle, request, context },
      );
    }
  }

  #failWith({ status, saStatus, fields, reason, message, cause }: JoinCompletion): void {
    const { device, port } = this.#request;
    const details: MulticastErrorDetails = {
      device,
      port,
      mgid: this.#mgid,
      status,
      saStatus: Number.isInteger(saStatus) && Number(saStatus) >= 0 ? saStatus : undefined,
      fields: Array.isArray(fields) ? fields : undefined,
      reason: reason !== undefined && RESET_REASONS.includes(reason) ? reason : undefined,
      cause,
    };
    const told = typeof message === 'string' && message !== '' ? message : failureMessage(details);
    this.#fail(reportedError(told, details));
  }

  #failProtocol(what: string): void {
    this.#failHere(
      Errno.EPROTO,
      `the provider '${this.#request.provider.name}' reported ${what}; this is a fault of the provider`,
    );
  }

  #failHere(status: number, message: string): void {
    const { device, port } = this.#request;
    this.#fail(reportedError(message, { status, device, port, mgid: this.#mgid }));
  }

  #fail(error: MulticastError): void {
    if (this.#ended) return;
    // Freed before anybody is told, so that no consumer starts a join while this handle is alive.
    this.unsubscribe();
    const request = this.#request;
    const { context } = request;
    const { errno: status, reason = 'group-error' } = error;
    this.#subscriber.next(
      error.code === 'ENETRESET'
        ? { type: 'reset', reason, status, error, request, context }
        : { type: 'error', status, error, request, context },
    );
    this.#subscriber.error(error);
  }

  #free(): void {
    const handle = this.#handle;
    if (handle === NO_HANDLE) return;
    this.#handle = NO_HANDLE;
    const { provider, device, port } = this.#request;
    freeHandle(provider, handle, { device, port, mgid: this.#mgid });
    this.#scope?.end(this.#what);
  }

  #startTimer(): void {
    const { joinTimeoutMs, scheduler } = this.#request;
    if (joinTimeoutMs === Infinity || this.#timer !== undefined) return;
    this.#timer = startTimer(scheduler, joinTimeoutMs, () => {
      if (this.#joined) return;
      this.#failHere(
        Errno.ETIMEDOUT,
        `${this.#mgid ?? this.#request.group ?? 'the group'}: not joined within joinTimeoutMs (${String(joinTimeoutMs)} ms); check that a subnet manager is running, then try again`,
      );
    });
    // A scheduler may have run the work at once.
    if (this.#ended) this.#stopTimer();
  }

  /** Lets go of it as well: a membership may live for months. */
  #stopTimer(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
  }

  #drop(
    name: 'rx-ib-multicast:late-completion' | 'rx-ib-multicast:duplicate-completion',
    message: DiagnosticMessage,
  ): void {
    this.#dropped += 1;
    const { provider, device, port } = this.#request;
    publishDiagnostic(name, () => ({
      provider: provider.name,
      device,
      port,
      mgid: this.#mgid,
      count: this.#dropped,
      ...message,
    }));
  }
}

/** What the joins of one call have in common. They hold it, and so need not hold the observable. */
class Origin {
  /** The place that the chain in force has for them. */
  get pin(): Pin | undefined {
    return currentChain()?.pinOf(this);
  }
}

/**
 * Joins a multicast group for as long as it is subscribed to.
 *
 * Each subscription makes one join at the provider and frees it exactly once, in every outcome. The
 * stream gives `joined` at most once; a failure is first an `error` or `reset` event, then the same
 * MulticastError as error notification, with the handle freed before either. It never completes.
 *
 * @param request What to join, or a factory that is called once per subscription. A request that is
 * not as documented ends the stream with a TypeError or RangeError that names the field, and without
 * an event; so does what a factory throws.
 * @throws TypeError for a second argument that is an object.
 */
export function joinMulticast$<C>(
  request: Arg<JoinRequest<C> & { context: C }>,
): Observable<MulticastEvent<C>>;
export function joinMulticast$<C = undefined>(
  request: Arg<JoinRequest<C>>,
): Observable<MulticastEvent<C | undefined>>;
export function joinMulticast$<C>(
  request: Arg<JoinRequest<C>>,
  ...more: readonly unknown[]
): Observable<MulticastEvent<C | undefined>> {
  // Numbers are the index that `map` passes along with each request.
  if (
    more.some(
      (argument) => typeof argument === 'object' && argument !== null && !Array.isArray(argument),
    )
  ) {
    throw new TypeError(
      'joinMulticast$ takes one argument, the request; give its options and the context as fields of the request',
    );
  }
  return joins(request, new Origin());
}

function joins<C>(
  request: Arg<JoinRequest<C>>,
  origin: Origin,
): Observable<MulticastEvent<C | undefined>> {
  return new Observable((subscriber) => {
    // The chain is asked for before a factory runs, which may subscribe to other things.
    const { pin } = origin;
    let resolution: Resolution<C>;
    try {
      resolution = resolveJoinRequest(requestOf(request), pin);
    } catch (misuse) {
      subscriber.error(misuse);
      return;
    }
    if (resolution.request !== pin) sealRequest(resolution.request, origin);
    const join = new Join(subscriber, resolution);
    subscriber.add(join);
    if (subscriber.closed) return;
    outsideOfChains(() => {
      if (resolution.refusal !== undefined) {
        join.refuse(resolution.refusal.thrown);
      } else if (resolution.inherit) {
        join.startInheriting((request) => {
          sealRequest(request, origin);
        });
      } else {
        join.start();
      }
    });
  });
}
