import type { SchedulerLike } from 'rxjs';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import type { MulticastProvider } from './provider.js';
import type { SaClient } from './sa-client.js';

/** A value, or a factory that is called once per subscription. */
export type Arg<T> = T | (() => T);

/** What to join, where, and how long to try. */
export interface JoinRequest<C = undefined> {
  /** Default: `umad()` for a `record.mgid`; for a `group`, `rdmacm()` where usable, else `umad()`. */
  provider?: MulticastProvider | undefined;
  /** Excludes `provider`, `device` and `port`. */
  client?: SaClient | undefined;
  /** RDMA device name, for example `'mlx5_0'`. Default: the first device with an active port. */
  device?: string | undefined;
  /** 1-based. Default: the first active port. */
  port?: number | undefined;
  /** `record.mgid`, or `group`, is required. */
  record?: McMemberRecordInit | undefined;
  /** IPv4 or IPv6 multicast address, mapped by the provider. Excludes `record.mgid`. */
  group?: string | undefined;
  /** Default: one bit per field present in `record`. Bits 0 to 17. */
  componentMask?: bigint | undefined;
  /**
   * `'broadcast'`: creation fields that `record` leaves out (Q_Key, P_Key, SL, traffic class, flow
   * label, hop limit, MTU and rate) are taken from the IPoIB broadcast group of the partition, as RFC
   * 4391 asks. That group is asked for before each join; EADDRNOTAVAIL where there is none. Its P_Key
   * and scope are those of the record, or of an IPoIB MGID, or else 0xffff and 2. Excludes
   * `componentMask`.
   */
  inherit?: 'broadcast' | undefined;
  /**
   * Milliseconds for the joining phase, queueing included. Default 15000. `Infinity`: no limit.
   * 0, NaN, negative and finite values above 2^31-1 are RangeErrors.
   */
  joinTimeoutMs?: number | undefined;
  /** Measures `joinTimeoutMs`. Default `asyncScheduler`. */
  scheduler?: SchedulerLike | undefined;
  /** Carried on every event. */
  context?: C | undefined;
}

/** A request whose events carry a context of this type. */
export type JoinRequestWith<C> = JoinRequest<C> & { context: C };

/** A request validated: the record canonical, the mask computed, defaults filled in. */
export interface ResolvedJoinRequest<C = unknown> {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  /** `mgid` is absent exactly when `group` is present. */
  readonly record: Readonly<McMemberRecordInit>;
  /** Canonical text of the IP group. */
  readonly group?: string;
  readonly componentMask: bigint;
  readonly joinTimeoutMs: number;
  readonly scheduler: SchedulerLike;
  readonly context: C;
}
