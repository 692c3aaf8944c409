import type { MulticastJoinedEvent } from '../contract/event.js';
import type { Arg, JoinRequest, ResolvedJoinRequest } from '../contract/request.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { joinMulticast$ } from './join-multicast.js';
import { shown } from '../errors/shown.js';

/** A membership that was made, for code that awaits rather than subscribes. */
export interface Membership<C = undefined> {
  readonly record: McMemberRecord;
  readonly request: ResolvedJoinRequest<C>;
  readonly context: C;
  /**
   * Resolves with the error when the membership is lost, with `undefined` when it was left. It never
   * rejects.
   */
  readonly lost: Promise<MulticastError | undefined>;
  /**
   * Leaves the group. Resolves when every handle freed at the provider has left the fabric, where the
   * provider can tell. Legal at any time, also twice and after a loss.
   */
  leave(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How a join that is awaited is given up. */
export interface JoinMulticastOptions {
  /** Aborting gives up the join, whose promise rejects with the signal's reason, or leaves the group. */
  signal?: AbortSignal | undefined;
}

function signalOf(options: JoinMulticastOptions): AbortSignal | undefined {
  if (options instanceof AbortSignal) {
    throw new TypeError('the options of joinMulticast() are an AbortSignal; expected { signal }');
  }
  checkKnownOptions(options, ['signal'], 'joinMulticast()');
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal is ${shown(signal)}; expected an AbortSignal`);
  }
  return signal;
}

/**
 * Joins a multicast group and resolves with the membership, which is held until `leave()`, until the
 * end of its `await using` block, until the signal aborts or until it is lost. It is not renewed.
 *
 * Rejects with a MulticastError when the join failed, with a TypeError or RangeError for a request
 * that is not as documented, with the signal's reason when aborted before it was joined.
 */
export function joinMulticast<C>(
  request: Arg<JoinRequest<C> & { context: C }>,
  options?: JoinMulticastOptions,
): Promise<Membership<C>>;
export function joinMulticast<C = undefined>(
  request: Arg<JoinRequest<C>>,
  options?: JoinMulticastOptions,
): Promise<Membership<C | undefined>>;
export function joinMulticast<C>(
  request: Arg<JoinRequest<C>>,
  options: JoinMulticastOptions = {},
): Promise<Membership<C | undefined>> {
  let signal: AbortSignal | undefined;
  try {
    signal = signalOf(options);
  } catch (misuse) {
    return Promise.reject(misuse);
  }
  const aborted = (): boolean => signal?.aborted === true;
  return new Promise((resolve, reject) => {
    if (aborted()) {
      reject(signal?.reason as unknown);
      return;
    }
    let end: (error: MulticastError | undefined) => void = () => undefined;
    const lost = new Promise<MulticastError | undefined>((settle) => {
      end = settle;
    });
    const onAbort = (): void => {
      stop();
      reject(signal?.reason as unknown);
    };
    const subscription = joinMulticast$(request).subscribe({
      next: (event) => {
        if (event.type === 'joined') resolve(membershipOf(event));
      },
      error: (error: unknown) => {
        signal?.removeEventListener('abort', onAbort);
        reject(error);
        end(error instanceof MulticastError ? error : undefined);
      },
    });
    // Only now: the listener needs the subscription, and a join may have failed or been aborted already.
    if (aborted()) onAbort();
    else if (!subscription.closed) signal?.addEventListener('abort', onAbort, { once: true });

    function stop(): void {
      signal?.removeEventListener('abort', onAbort);
      subscription.unsubscribe();
      end(undefined);
    }

    function membershipOf(joined: MulticastJoinedEvent<C | undefined>): Membership<C | undefined> {
      const leave = async (): Promise<void> => {
        stop();
        await joined.request.provider.idle?.();
      };
      const { record, request: resolved, context } = joined;
      return { record, request: resolved, context, lost, leave, [Symbol.asyncDispose]: leave };
    }
  });
}
