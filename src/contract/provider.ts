import type { AddressHandle } from './address-handle.js';
import type { ResolvedJoinRequest } from './request.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import type { ResetReason } from '../errors/reset-reason.js';
import type {
  GroupNewsCallback,
  QueryCallback,
  ResolvedQuery,
  ResolvedService,
  SaRecordKind,
  ServiceCallback,
} from './query.js';
import type { ProviderStats } from './stats.js';

/** Identifies one join at its provider. Opaque to everybody else. */
export type MulticastHandle = object;

/** What a provider reports about a join. A membership gets any number of these, in order. */
export interface JoinCompletion {
  /** 0: joined. Otherwise a Linux errno, of either sign. */
  status: number;
  /** Required when `status` is 0. */
  record?: McMemberRecord;
  /** MAD status of the subnet administrator, host order, when it answered. */
  saStatus?: number;
  /** Names of the record fields concerned. */
  fields?: readonly string[];
  /** With ENETRESET. */
  reason?: ResetReason;
  /** What the provider's source reported, where `status` is a reading of it. */
  cause?: unknown;
  /** With status 0, where the provider knows how to send to the group. */
  addressHandle?: AddressHandle;
  /** What a person should know beyond the status; the default is made from the status. */
  message?: string;
}

/** What decides which port a request uses. */
export type PortWish = Pick<ResolvedJoinRequest, 'device' | 'port'> &
  Partial<Pick<ResolvedJoinRequest, 'group' | 'record'>>;

export type JoinCallback = (completion: JoinCompletion) => void;

/** Live state of one port. */
export interface PortInfo {
  readonly device: string;
  /** 1-based. */
  readonly port: number;
  readonly state: 'down' | 'initialize' | 'armed' | 'active' | 'unknown';
  readonly linkLayer: 'infiniband' | 'ethernet' | 'unknown';
  /** Local identifier, 0 while the subnet manager has not assigned one. */
  readonly lid: number;
  /** LID of the subnet manager, 0 when none is known. */
  readonly smLid: number;
  readonly smSl: number;
  /** GID index 0. */
  readonly gid: string;
  /** GID table by index, `'::'` where it is empty; of `umad()` and `embeddedFabric()` ports. */
  readonly gids?: readonly string[];
  /** P_Key table without its empty slots. */
  readonly pkeys: readonly number[];
  /** IP addresses through which the kernel's RDMA CM reaches the port; of `rdmacm()` ports only. */
  readonly addresses?: readonly string[];
}

/**
 * The seam between Rx and whatever does the join. One call to join, one to free: the kernel's own
 * two calls. Anyone may implement it.
 */
export interface MulticastProvider {
  readonly name: string;
  /** Called synchronously in subscribe. Throws (a MulticastError, if it can) when it cannot start. */
  joinMulticast(request: ResolvedJoinRequest, callback: JoinCallback): MulticastHandle;
  /**
   * Legal at any time, also inside the callback. Afterwards callbacks are ignored by the caller and
   * a later grant is left again by the provider.
   */
  freeMulticast(handle: MulticastHandle): void;
  /**
   * Says which device and port a request will use. Called before `joinMulticast`, whose request then
   * names them, and not again when `rejoinOnReset` renews a membership: that keeps the port of the
   * first. Where it is missing, `device` and `port` stay as the user gave them. Throws a MulticastError
   * for an unknown device or port (ENODEV) or when no port is active (EAGAIN).
   */
  resolvePort?(request: PortWish): { device?: string; port?: number };
  /**
   * Asks the subnet administrator, in the same window and with the same timeouts as the joins. Calls
   * back once, never from within this call; the handle is freed by `freeMulticast`, before or after
   * that. Where it is missing, callers get EOPNOTSUPP; so for the next three.
   */
  query?<K extends SaRecordKind>(
    request: ResolvedQuery<K>,
    callback: QueryCallback<K>,
  ): MulticastHandle;
  /** Registers a service until the handle is freed, and renews its lease. */
  registerService?(request: ResolvedService, callback: ServiceCallback): MulticastHandle;
  /** Tells of groups created and deleted until the handle is freed. */
  watchGroups?(
    request: { device?: string; port?: number },
    callback: GroupNewsCallback,
  ): MulticastHandle;
  /** The record of a group that the port is a member of through this process. */
  memberRecord?(
    mgid: string,
    place: { device?: string; port?: number },
  ): McMemberRecord | undefined;
  /** Resolves when every freed handle has left the fabric. */
  idle?(): Promise<void>;
  stats?(): ProviderStats;
  /** Ports there are, opened or not. */
  ports?(): PortInfo[];
  /** Maps an IPv4 or IPv6 multicast address to the MGID this provider joins for it. */
  mapGroup?(
    group: string,
    request: { device?: string; port?: number; pkey?: number; scope?: number },
  ): string;
}

/** Options of a port that is driven by this package's own SA client. */
export interface SaPortOptions {
  /** Milliseconds for one SA request in all, over its attempts. Default 3000; 0 is a RangeError. */
  requestTimeoutMs?: number | undefined;
  /** Attempts within `requestTimeoutMs`. Default 3. */
  attempts?: number | undefined;
  /** SA requests outstanding per port at a time, 1 to 255. */
  maxOutstanding?: number | undefined;
  /** Milliseconds between membership audits, jittered. Default 10000; 0 switches the audit off. */
  auditIntervalMs?: number | undefined;
  /**
   * Milliseconds after a reset until a membership that nobody has renewed is deleted at the subnet
   * manager as well. Default 30000.
   */
  staleLeaveMs?: number | undefined;
  /**
   * Before which joins the subnet administrator is asked whether the port is a member already, through
   * the kernel or another process: such a membership is not left at the end. `'ipoib'` (default): for
   * the groups of IP over InfiniBand (`ff1x:401b:...`, `ff1x:601b:...`); `'always'`; `'never'`.
   */
  probe?: 'ipoib' | 'always' | 'never' | undefined;
  /** Milliseconds between polls of PortInfo where the device gives no events. Default 250. */
  pollIntervalMs?: number | undefined;
  /** Milliseconds that process exit may wait for Deletes to be answered. Default 2000. */
  exitDrainMs?: number | undefined;
  /** Whether a membership keeps the process alive. Default true. */
  ref?: boolean | undefined;
}

/** Options of `rdmacm()`. */
export interface RdmacmOptions {
  /**
   * Decides the MGID that the kernel maps an IP group to on InfiniBand: `'udp'` (default) has the
   * RDMA CM's own signature (`ff1x:4001:...`), for QPs of RDMA applications; `'ipoib'` is the group of
   * IP over InfiniBand (`ff1x:401b:...`). On RoCE there is no difference in the MGID.
   */
  portSpace?: 'udp' | 'ipoib' | undefined;
  /** Local IP address to join through. Default: the first address of the port in the group's family. */
  sourceAddress?: string | undefined;
  /** Milliseconds that process exit may wait for leaves. Default 2000. */
  exitDrainMs?: number | undefined;
  /** Whether a membership keeps the process alive. Default true. */
  ref?: boolean | undefined;
}
