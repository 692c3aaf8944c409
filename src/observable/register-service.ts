import { Observable } from 'rxjs';
import type { Subscriber } from 'rxjs';
import type { MulticastHandle, MulticastProvider } from '../contract/provider.js';
import type { ServiceCompletion } from '../contract/query.js';
import type { Arg } from '../contract/request.js';
import type { ResolvedServiceRequest, ServiceEvent } from '../contract/service-event.js';
import { Errno } from '../errors/errno.js';
import { failureMessage, SERVICE_ADVICE } from '../errors/failure-message.js';
import { MulticastError } from '../errors/multicast-error.js';
import { wrapThrown } from '../errors/wrap-thrown.js';
import { canonicalService } from '../records/canonical-service.js';
import { shown } from '../errors/shown.js';
import { serviceComponentMask } from '../records/service-record.js';
import type { ServiceRecordInit } from '../records/service-record.js';
import { freeHandle } from './free-handle.js';
import { checkPlace, choosePlace, PLACE_OPTIONS } from './place.js';
import type { Place, PlaceOptions } from './place.js';
import { currentChain, outsideOfChains, sealRequest } from './rejoin-chain.js';
import type { Pin } from './rejoin-chain.js';

/** A service to be registered, and where. */
export interface ServiceRegistration extends ServiceRecordInit, PlaceOptions {
  serviceId: bigint;
  /**
   * Whole seconds until the subnet administrator forgets the service unless it is renewed, which is
   * done when half of them have passed. Default 300; Infinity: never; 0 is a RangeError.
   */
  leaseSeconds?: number;
  /** Default 0xffff. */
  pkey?: number;
}

const DEFAULT_LEASE_SECONDS = 300;
const DEFAULT_PKEY = 0xffff;
const SYSCALL = 'registerService';

/** Stands on the events of a registration for which no provider is usable. */
const noProvider: MulticastProvider = {
  name: 'none',
  joinMulticast: () => {
    throw new TypeError('there is no provider');
  },
  freeMulticast: () => undefined,
};

interface CheckedService {
  readonly place: PlaceOptions;
  readonly record: Readonly<ServiceRecordInit>;
}

function check(given: ServiceRegistration): CheckedService {
  if (typeof given !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new TypeError(`the service is ${shown(given)}; expected an object with serviceId`);
  }
  const places: readonly string[] = PLACE_OPTIONS;
  const entries = Object.entries(given);
  const place: PlaceOptions = Object.fromEntries(entries.filter(([name]) => places.includes(name)));
  checkPlace(place);
  const fields: ServiceRecordInit = Object.fromEntries(
    entries.filter(([name, value]) => !places.includes(name) && value !== undefined),
  );
  const record = canonicalService({
    pkey: DEFAULT_PKEY,
    leaseSeconds: DEFAULT_LEASE_SECONDS,
    ...fields,
  });
  if (record.serviceId === undefined) {
    throw new TypeError('serviceId is missing; expected a bigint from 0n to 0xffffffffffffffffn');
  }
  if (record.leaseSeconds === 0) {
    throw new RangeError(
      'leaseSeconds is 0; expected an integer from 1 to 0xfffffffe, or Infinity',
    );
  }
  return { place, record };
}

/** One subscription: one registration, one handle, freed exactly once. */
class Registration {
  readonly #subscriber: Subscriber<ServiceEvent>;
  readonly #place: Place;
  readonly #request: ResolvedServiceRequest;
  readonly #what: string;
  #handle: { readonly value: MulticastHandle } | undefined;
  #ended = false;
  #registered = false;
  /** Completions that come before there is a handle. */
  #early: ServiceCompletion[] | undefined = [];

  constructor(subscriber: Subscriber<ServiceEvent>, place: Place, request: ResolvedServiceRequest) {
    this.#subscriber = subscriber;
    this.#place = place;
    this.#request = request;
    this.#what = `service 0x${(request.record.serviceId ?? 0n).toString(16)}`;
  }

  start(): void {
    const { provider } = this.#request;
    const { device, port } = this.#request;
    if (provider.registerService === undefined) {
      this.refuse(
        new MulticastError(
          `the provider '${provider.name}' cannot register services; use umad() or embeddedFabric()`,
          { status: Errno.EOPNOTSUPP, syscall: SYSCALL, device, port },
        ),
      );
      return;
    }
    this.#place.scope?.begin(this.#what);
    try {
      this.#handle = {
        value: provider.registerService(this.#request, (completion) => {
          if (this.#early === undefined) this.#complete(completion);
          else this.#early.push(completion);
        }),
      };
    } catch (thrown) {
      this.#early = undefined;
      this.#place.scope?.end(this.#what);
      this.refuse(thrown);
      return;
    }
    const early = this.#early ?? [];
    this.#early = undefined;
    // Unsubscribed while the provider was on the stack.
    if (this.#ended) this.#free();
    for (const completion of early) this.#complete(completion);
  }

  refuse(thrown: unknown): void {
    const { device, port } = this.#request;
    this.#fail(wrapThrown(thrown, { device, port }));
  }

  dispose(): void {
    this.#ended = true;
    this.#free();
  }

  #complete({ status, record, saStatus, reason, message }: ServiceCompletion): void {
    if (this.#ended) return;
    const { device, port } = this.#request;
    if (status !== 0 || record === undefined) {
      const details = {
        status: status === 0 ? Errno.EPROTO : status,
        saStatus,
        reason,
        syscall: SYSCALL,
        device,
        port,
      };
      this.#fail(
        new MulticastError(message ?? failureMessage(details, undefined, SERVICE_ADVICE), details),
      );
    } else if (!this.#registered) {
      this.#registered = true;
      this.#subscriber.next({ type: 'joined', status: 0, record, request: this.#request });
    }
  }

  #fail(error: MulticastError): void {
    if (this.#ended) return;
    // Freed before anybody is told, as a join is.
    this.dispose();
    const request = this.#request;
    const event = { status: error.errno, error, request };
    this.#subscriber.next(
      error.code === 'ENETRESET'
        ? { type: 'reset', reason: error.reason ?? 'group-error', ...event }
        : { type: 'error', ...event },
    );
    this.#subscriber.error(error);
  }

  #free(): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#handle = undefined;
    const { provider, device, port } = this.#request;
    freeHandle(provider, handle.value, { device, port });
    this.#place.scope?.end(this.#what);
  }
}

/**
 * Registers a service with the subnet administrator for as long as it is subscribed to.
 *
 * The stream has the lifecycle of a join: `joined` once the service is registered, with the record as
 * the administrator keeps it; the lease is renewed in time, silently; `reset` when the registration
 * is lost; `error` when it fails; in both cases the same MulticastError ends the stream. It never
 * completes. Unsubscription deletes the service. `rejoinOnReset` registers it again.
 *
 * @param service The fields of the record, and where to register it; or a factory that is called
 * once per subscription. What is not as documented ends the stream with a TypeError or RangeError.
 */
export function registerService$(service: Arg<ServiceRegistration>): Observable<ServiceEvent> {
  const origin = {};
  return new Observable((subscriber) => {
    const pin: Pin | undefined = currentChain()?.pinOf(origin);
    let checked: CheckedService;
    try {
      checked = check(typeof service === 'function' ? service() : service);
    } catch (misuse) {
      subscriber.error(misuse);
      return;
    }
    const { record } = checked;
    const componentMask = serviceComponentMask({ serviceGid: '::', ...record });
    const at = (place: {
      provider: MulticastProvider;
      device?: string;
      port?: number;
    }): ResolvedServiceRequest => ({
      provider: place.provider,
      ...(place.device === undefined ? {} : { device: place.device }),
      ...(place.port === undefined ? {} : { port: place.port }),
      record,
      componentMask,
    });
    let place: Place;
    let refusal: { readonly thrown: unknown } | undefined;
    try {
      // A renewed registration stays where the first one was.
      const chosen = choosePlace(checked.place, 'registerService', pin === undefined);
      place = pin === undefined ? chosen : { ...chosen, ...pin };
    } catch (thrown) {
      refusal = { thrown };
      const { provider = noProvider, device, port } = checked.place.client ?? checked.place;
      place = {
        provider,
        ...(device === undefined ? {} : { device }),
        ...(port === undefined ? {} : { port }),
        scope: undefined,
      };
    }
    const request = at(place);
    sealRequest(request, origin);
    const registration = new Registration(subscriber, place, request);
    subscriber.add(() => {
      registration.dispose();
    });
    outsideOfChains(() => {
      if (refusal === undefined) registration.start();
      else registration.refuse(refusal.thrown);
    });
  });
}
