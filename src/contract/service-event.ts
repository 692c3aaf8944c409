import type { MulticastError } from '../errors/multicast-error.js';
import type { ResetReason } from '../errors/reset-reason.js';
import type { ServiceRecord } from '../records/service-record.js';
import type { MulticastProvider } from './provider.js';
import type { ResolvedService } from './query.js';

/** A registration validated, with the provider it goes to. */
export interface ResolvedServiceRequest extends ResolvedService {
  readonly provider: MulticastProvider;
}

/** The service is registered. */
export interface ServiceJoinedEvent {
  readonly type: 'joined';
  readonly status: 0;
  /** As the subnet administrator keeps it. */
  readonly record: ServiceRecord;
  readonly request: ResolvedServiceRequest;
}

/** The registration failed; the same error ends the stream. */
export interface ServiceErrorEvent {
  readonly type: 'error';
  /** Negative errno. */
  readonly status: number;
  readonly error: MulticastError;
  readonly request: ResolvedServiceRequest;
}

/** The registration is lost and must be made anew; the same error ends the stream. */
export interface ServiceResetEvent {
  readonly type: 'reset';
  /** -102, ENETRESET. */
  readonly status: number;
  readonly error: MulticastError;
  readonly reason: ResetReason;
  readonly request: ResolvedServiceRequest;
}

/** What happens to the registration of a service: the lifecycle of a join. */
export type ServiceEvent = ServiceJoinedEvent | ServiceErrorEvent | ServiceResetEvent;
