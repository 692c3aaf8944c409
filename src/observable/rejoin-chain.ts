import type { LifecycleEvent } from '../contract/event.js';
import type { MulticastProvider } from '../contract/provider.js';

/** Where a membership was made, to be kept when it is renewed. */
export interface Pin {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
}

/** A constructor that makes nothing: a subclass puts its private fields on what it is given. */
const Given = function (request: object) {
  return request;
} as unknown as new (request: object) => object;

/**
 * Puts on a resolved request which observable it came from, so that its joined event can be traced
 * back. A private field is seen by nobody else, and neither would an entry of a WeakMap be; but one
 * entry for each join cost a fifth of the time of all of it.
 */
class Traced extends Given {
  readonly #origin: object;

  constructor(request: object, origin: object) {
    super(request);
    this.#origin = origin;
  }

  /** Events may come from anywhere, so nothing is taken for what its type says. */
  static originOf(request: unknown): object | undefined {
    const traced = typeof request === 'object' && request !== null && #origin in request;
    return traced ? request.#origin : undefined;
  }
}

let current: RejoinChain | undefined;

function runWith<R>(chain: RejoinChain | undefined, work: () => R): R {
  const before = current;
  current = chain;
  try {
    return work();
  } finally {
    current = before;
  }
}

/**
 * The attempts of one subscription to `rejoinOnReset`, and where each observable among their sources
 * has joined. It is in force while the operator subscribes to its source, which is when
 * `joinMulticast$` asks for its pin; that works through any operators between the two as long as they
 * subscribe synchronously.
 */
export class RejoinChain {
  /** The latest pin; nearly always it is the only one. */
  #origin: object | undefined;
  #pin: Pin | undefined;
  /** Those of other observables. */
  #others: WeakMap<object, Pin> | undefined;
  /** The chain around this one: with two operators in a pipe, the outer one has the longer memory. */
  readonly #parent = current;

  /** Runs `work` so that joins started by it belong to this chain. */
  run<R>(work: () => R): R {
    return runWith(this, work);
  }

  /** Keeps the place of a membership that was made. */
  observe(event: LifecycleEvent): void {
    if (event.type !== 'joined') return;
    const { request } = event;
    const origin = Traced.originOf(request);
    if (origin === undefined) return;
    if (origin !== this.#origin) {
      if (this.#origin !== undefined && this.#pin !== undefined) {
        (this.#others ??= new WeakMap()).set(this.#origin, this.#pin);
      }
      this.#origin = origin;
    }
    this.#pin = request;
  }

  /** Where the observable has joined before, in this chain. */
  pinOf(origin: object): Pin | undefined {
    const pin = origin === this.#origin ? this.#pin : this.#others?.get(origin);
    return pin ?? this.#parent?.pinOf(origin);
  }
}

/** Runs `work` outside of every chain: joins that consumers start in their handlers are their own. */
export function outsideOfChains<R>(work: () => R): R {
  return runWith(undefined, work);
}

/** The chain in force, for those who subscribe later on behalf of their subscriber. */
export function currentChain(): RejoinChain | undefined {
  return current;
}

/** Notes which observable made a resolved request, which then is as it will stay. */
export function sealRequest(request: Pin, origin: object): void {
  new Traced(request, origin);
  Object.freeze(request);
}
