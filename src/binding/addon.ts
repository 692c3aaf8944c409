/**
 * The whole native surface, declared by hand. Nothing outside this folder calls it, and a test holds
 * the list against the functions of the built addon.
 *
 * Records cross as numbers in two Float64Arrays, one per direction, given in `attach()`; see
 * exchange.ts for their layout. GIDs are four 32-bit words in network order.
 */
export interface Addon {
  /**
   * Once per JavaScript environment, before anything else.
   *
   * @param incoming Completions, up to 16 at a time.
   * @param outgoing One request.
   * @param questions What is asked of the subnet administrator; see ask-exchange.ts.
   * @param dispatch Called when `count` completions stand in `incoming`, with the bytes of all the
   * tables that come with them. With 0: some port has come to rest. With -1: there is more, and `resume()` is to
   * be called when the loop has turned.
   * @param note Called for each diagnostic.
   */
  attach(
    incoming: Float64Array,
    outgoing: Float64Array,
    questions: Float64Array,
    dispatch: (count: number, tables?: Uint8Array) => void,
    note: (
      port: number,
      kind: number,
      mgid: readonly number[],
      status: number,
      saStatus: number,
      reason: number,
    ) => void,
  ): void;
  /** Opens a port, or finds it open; throws an Error with `status`. Returns the port's number here. */
  openPort(kind: PortKind, options: NativePortOptions): number;
  /** Frees the port's handles of this environment and lets go of it. */
  /** Leaves now what a reset took and nobody has rejoined, unless other environments use the port. */
  leaveStale(port: number): void;
  closePort(port: number): void;
  /** Starts the join that stands in `outgoing`; returns the handle. */
  join(port: number): number;
  /**
   * Asks what stands in `questions`, or subscribes to the reports of a trap that is not 0; returns the
   * handle. Throws an Error with `status`.
   */
  ask(port: number, leaseMs: number, trap: number): number;
  /** Replaces the record in `outgoing` by that of its group, if this port is a member of it. */
  memberRecord(port: number): boolean;
  /** Ignores handles it does not know. */
  free(port: number, handle: number): void;
  /** Goes on with what `dispatch(-1)` has left. */
  resume(): void;
  /** Sets the engines to work on joins, asks and frees, of which they let a few gather otherwise. */
  flush(): void;
  /** Writes the counters in the order of PORT_STATS_FIELDS. */
  stats(port: number, out: Float64Array): void;
  /** Live state, as of the engine's last run. */
  portState(port: number): NativePortInfo;
  /** Whether a freed handle may not yet have left the fabric. */
  unsettled(port: number): boolean;
  /** Whether the addon keeps the event loop alive. */
  hold(held: boolean): void;
  /**
   * Frees everything and waits for the answers to the Deletes, at most so many milliseconds; the
   * environment is of no use afterwards. `all`: every environment of the process, and stop threads.
   */
  drain(limitMs: number, all: boolean): boolean;
  /** Lists ports, with their GID tables where asked for; throws an Error with `status`. */
  discover(kind: PortKind, fabric: number, gids: boolean): NativePortInfo[];
  /** Makes (`'create'`), controls and inspects embedded fabrics. */
  fabric(verb: 'create', options: NativeFabricOptions): number;
  fabric(verb: string, fabric: number, ...numbers: number[]): unknown;
  /** Packs the record in `outgoing`, or unpacks bytes from `at` on into it (false: too few). */
  codec(verb: 'packMcMemberRecord'): Uint8Array;
  codec(verb: 'unpackMcMemberRecord', bytes: Uint8Array, at: number): boolean;
  /** The same for records that cross in arrays of their own; see record-exchange.ts. */
  codec(verb: 'packPathRecord' | 'packServiceRecord', slots: Float64Array): Uint8Array;
  codec(
    verb: 'unpackPathRecord' | 'unpackServiceRecord',
    bytes: Uint8Array,
    slots: Float64Array,
    at: number,
  ): boolean;
}

/** Names of the functions above, for the test that compares them with the built addon. */
export const ADDON_FUNCTIONS = [
  'attach',
  'openPort',
  'leaveStale',
  'closePort',
  'join',
  'ask',
  'memberRecord',
  'free',
  'flush',
  'resume',
  'stats',
  'portState',
  'unsettled',
  'hold',
  'drain',
  'discover',
  'fabric',
  'codec',
] as const satisfies readonly (keyof Addon)[];

/** What is behind a port: an SA client on one of two transports, or the kernel's RDMA CM. */
export type PortKind = 'embedded' | 'umad' | 'rdmacm';

export interface NativePortOptions {
  exitDrainMs: number;
  /** embedded, umad */
  requestTimeoutMs?: number;
  attempts?: number;
  maxOutstanding?: number;
  auditIntervalMs?: number;
  staleLeaveMs?: number;
  probe?: 'ipoib' | 'always' | 'never';
  pollIntervalMs?: number;
  /** umad, rdmacm */
  device?: string;
  port?: number;
  /** rdmacm */
  portSpace?: 'udp' | 'ipoib';
  /** Empty: any. */
  sourceAddress?: string;
  /** embedded */
  fabric?: number;
  index?: number;
  seed?: number;
}

export interface NativeFabricOptions {
  ports: number;
  manual: boolean;
  mlidPool: number;
  groupsPerMlid: number;
  delayMs: number;
  serviceRate: number;
  seed: number;
  pkeys: readonly number[];
  rmpp: boolean;
}

export interface NativePortInfo {
  device: string;
  port: number;
  state: 'down' | 'initialize' | 'armed' | 'active' | 'unknown';
  linkLayer: 'infiniband' | 'ethernet' | 'unknown';
  lid: number;
  smLid: number;
  smSl: number;
  gidWords: [number, number, number, number];
  pkeys: number[];
  /** umad, embedded */
  gidTable?: [number, number, number, number][];
  /** rdmacm */
  addresses?: string[];
}
