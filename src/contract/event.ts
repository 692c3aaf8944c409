import type { AddressHandle } from './address-handle.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import type { ResetReason } from '../errors/reset-reason.js';
import type { MulticastProvider } from './provider.js';
import type { ResolvedJoinRequest } from './request.js';
import type { MulticastError } from '../errors/multicast-error.js';

/** The membership stands: the port receives the group's packets. */
export interface MulticastJoinedEvent<C> {
  readonly type: 'joined';
  readonly status: 0;
  readonly record: McMemberRecord;
  /** How to send to the group; only from providers that are told, such as `rdmacm()`. */
  readonly addressHandle?: AddressHandle;
  readonly request: ResolvedJoinRequest<C>;
  readonly context: C;
}

/** The join failed. The handle has been freed; the same error ends the stream. */
export interface MulticastErrorEvent<C> {
  readonly type: 'error';
  /** Negative errno. */
  readonly status: number;
  readonly error: MulticastError;
  readonly request: ResolvedJoinRequest<C>;
  readonly context: C;
}

/** The membership is lost and must be made anew. The handle has been freed; the same error ends the stream. */
export interface MulticastResetEvent<C> {
  readonly type: 'reset';
  /** -102, ENETRESET. */
  readonly status: number;
  readonly error: MulticastError;
  readonly reason: ResetReason;
  readonly request: ResolvedJoinRequest<C>;
  readonly context: C;
}

export type MulticastEvent<C = undefined> =
  MulticastJoinedEvent<C> | MulticastErrorEvent<C> | MulticastResetEvent<C>;

/** What the events of memberships and of services have in common. */
export interface LifecycleEvent {
  readonly type: 'joined' | 'error' | 'reset';
  readonly status: number;
  /** Where it was made. */
  readonly request: {
    readonly provider: MulticastProvider;
    readonly device?: string;
    readonly port?: number;
  };
}
