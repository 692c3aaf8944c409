import type { McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import type { InfiniBandPathRecord, PathRecordInit } from '../records/path-record.js';
import type { ServiceRecord, ServiceRecordInit } from '../records/service-record.js';
import type { ResetReason } from '../errors/reset-reason.js';

/** The kinds of record that can be asked for, as they are reported and as they are asked for. */
export interface SaRecords {
  'path-record': { reported: InfiniBandPathRecord; asked: PathRecordInit };
  'mc-member-record': { reported: McMemberRecord; asked: McMemberRecordInit };
  'service-record': { reported: ServiceRecord; asked: ServiceRecordInit };
}

/** A kind of record. */
export type SaRecordKind = keyof SaRecords;

/** A question to the subnet administrator, validated: every record that fits `record` is wanted. */
export interface ResolvedQuery<K extends SaRecordKind = SaRecordKind> {
  readonly kind: K;
  readonly device?: string;
  readonly port?: number;
  readonly record: Readonly<SaRecords[K]['asked']>;
  readonly componentMask: bigint;
  /** 0n: asked without authority. */
  readonly smKey: bigint;
}

/** What a provider reports about a query, once. */
export interface QueryCompletion<K extends SaRecordKind = SaRecordKind> {
  /** 0: answered. Otherwise a Linux errno, of either sign. */
  status: number;
  /** Required when `status` is 0; may be decoded as it is read, and is read at most once. */
  records?: Iterable<SaRecords[K]['reported']>;
  /** Whether there were more records than the transport could carry. */
  truncated?: boolean;
  /** MAD status of the subnet administrator, host order, when it answered. */
  saStatus?: number;
  /** What a person should know beyond the status. */
  message?: string;
}

export type QueryCallback<K extends SaRecordKind = SaRecordKind> = (
  completion: QueryCompletion<K>,
) => void;

/** A service to be registered, validated. */
export interface ResolvedService {
  readonly device?: string;
  readonly port?: number;
  /** `serviceGid` absent: the port's own GID. */
  readonly record: Readonly<ServiceRecordInit>;
  readonly componentMask: bigint;
}

/** What a provider reports about a registration. It gets any number of these, in order. */
export interface ServiceCompletion {
  /** 0: registered. ENETRESET: lost. Otherwise a Linux errno, of either sign. */
  status: number;
  /** Required when `status` is 0. */
  record?: ServiceRecord;
  saStatus?: number;
  /** With ENETRESET. */
  reason?: ResetReason;
  message?: string;
}

export type ServiceCallback = (completion: ServiceCompletion) => void;

/** A group came into being or went away. */
export interface GroupNews {
  readonly type: 'created' | 'deleted';
  readonly mgid: string;
}

/** What a provider reports about a subscription to group news. It gets any number of these, in order. */
export interface GroupNewsCompletion {
  /**
   * 0: subscribed, or, with `news`, something has happened. ENETRESET: the subscription is lost; the
   * provider makes it anew and then says 0 again, unless the reason is `'device-removed'`. Otherwise a
   * Linux errno, of either sign, and nothing comes after it.
   */
  status: number;
  news?: GroupNews;
  saStatus?: number;
  reason?: ResetReason;
  message?: string;
}

/** What `groupEvents$` emits. */
export type GroupEvent = GroupsSubscribedEvent | GroupsLostEvent | GroupNews;

/** From now on news come; what happened before, also since a `lost`, nobody tells. */
export interface GroupsSubscribedEvent {
  readonly type: 'subscribed';
}

/** No news until the next `subscribed`. */
export interface GroupsLostEvent {
  readonly type: 'lost';
  readonly reason: ResetReason;
}

export type GroupNewsCallback = (completion: GroupNewsCompletion) => void;
