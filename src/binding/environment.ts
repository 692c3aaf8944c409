// Not the global one, which tests with fake timers replace: what waits here is not in their time.
import { setImmediate } from 'node:timers';
import type { JoinCallback, JoinCompletion, PortInfo } from '../contract/provider.js';
import type { PortStats } from '../contract/stats.js';
import { publishDiagnostic } from '../errors/diagnostics.js';
import type { DiagnosticChannel, DiagnosticMessage } from '../errors/diagnostics.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import { RESET_REASONS } from '../errors/reset-reason.js';
import type { McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import type { InfiniBandPathRecord } from '../records/path-record.js';
import type { ServiceRecord, ServiceRecordInit } from '../records/service-record.js';
import type {
  Addon,
  NativeFabricOptions,
  NativePortInfo,
  NativePortOptions,
  PortKind,
} from './addon.js';
import { Questions } from './ask-exchange.js';
import type { NativeAsk, NativeTable } from './ask-exchange.js';
import {
  completionHandle,
  incomingArray,
  readCompletion,
  readRecord,
  readTable,
  requestSlots,
  writeRequest,
} from './exchange.js';
import { gidOfWords } from '../address/gid.js';
import { UNASSIGNED_MGID } from '../address/mgid.js';
import { inMainThread, loadAddon } from './load.js';
import {
  pathSlots,
  readPath,
  readService,
  serviceSlots,
  writePath,
  writeService,
} from './record-exchange.js';
import type { PackablePath } from './record-exchange.js';
import { PORT_STATS_FIELDS } from './stats-fields.js';

// In the order of the native enumeration, which starts at 1.
const CHANNELS: readonly DiagnosticChannel[] = [
  'rx-ib-multicast:leave-failed',
  'rx-ib-multicast:late-reply',
  'rx-ib-multicast:duplicate-reply',
  'rx-ib-multicast:foreign-reply',
  'rx-ib-multicast:malformed-reply',
  'rx-ib-multicast:compensating-leave',
  'rx-ib-multicast:stale-leave',
  'rx-ib-multicast:port-event',
];

/** Runs native code, whose Errors carry a status, and gives MulticastErrors instead. */
function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw translation(error);
  }
}

function translation(error: unknown): unknown {
  const { status } = error as { status?: unknown };
  if (!(error instanceof Error) || typeof status !== 'number') return error;
  return new MulticastError(error.message, { status });
}

function portInfo({ gidWords, gidTable, ...info }: NativePortInfo): PortInfo {
  return {
    ...info,
    gid: gidOfWords(gidWords),
    ...(gidTable === undefined ? {} : { gids: gidTable.map((words) => gidOfWords(words)) }),
  };
}

/** One join at a native port. */
export class NativeHandle {
  constructor(
    readonly use: PortUse,
    readonly id: number,
    /** As asked for: in canonical text, `'::'` where the fabric is to decide, and for questions. */
    readonly mgid: string,
    /** Undefined once freed. */
    public callback: NativeCallback | undefined,
  ) {}
}

/** `table` comes with what was asked of the subnet administrator. */
export type NativeCallback = (completion: JoinCompletion, table?: NativeTable) => void;

/** A port that this JavaScript environment has open. */
class NativePort {
  readonly uses = new Set<PortUse>();
  /** A handle was freed, and the port has not been found at rest since. */
  leaving = false;
  /** The device is gone for good; another open may find it again. */
  removed = false;
  readonly waiting: (() => void)[] = [];
  /** Handles that are not freed, of uses that keep the process alive. */
  holding = 0;

  constructor(
    readonly id: number,
    readonly manual: boolean,
    /** For diagnostics. */
    readonly place: Pick<DiagnosticMessage, 'provider' | 'device' | 'port'>,
  ) {}

  /** Whether the loop has to go on for this port. A manual clock moves for nobody. */
  get holds(): boolean {
    return !this.manual && (this.leaving || this.holding > 0);
  }
}

/** What one provider does with a port. Several may share the port. */
export class PortUse {
  readonly #environment: Environment;
  readonly port: NativePort;
  /** Whether a membership keeps the process alive. */
  readonly ref: boolean;
  /** Handles of this use that are not freed. */
  alive = 0;

  constructor(environment: Environment, port: NativePort, ref: boolean) {
    this.#environment = environment;
    this.port = port;
    this.ref = ref;
    port.uses.add(this);
  }

  get removed(): boolean {
    return this.port.removed;
  }

  join(
    record: Readonly<McMemberRecordInit>,
    mgid: string,
    componentMask: bigint,
    callback: JoinCallback,
    group?: string,
  ): NativeHandle {
    return this.#environment.join(this, record, mgid, componentMask, callback, group);
  }

  /** Asks the subnet administrator something. */
  ask(ask: NativeAsk, callback: NativeCallback): NativeHandle {
    return this.#environment.ask(this, ask, callback);
  }

  /** The record of a group that this port is a member of. */
  memberRecord(mgid: string): McMemberRecord | undefined {
    return this.#environment.memberRecord(this, mgid);
  }

  /** Live state of the port, as of the engine's last run. */
  state(): PortInfo {
    return this.#environment.state(this);
  }

  /** Counters of the port, whoever uses it. */
  stats(): PortStats {
    return this.#environment.stats(this.port.id);
  }

  /** Resolves when every handle of the port that was freed has left the fabric. */
  idle(): Promise<void> {
    return this.#environment.idle(this.port);
  }

  /** Frees what is still alive, without a word to anybody. */
  abandon(): void {
    if (this.alive > 0) this.#environment.abandon(this);
  }

  /** Of the last use: what a reset took from it is not left for later, which would not come. */
  leaveStale(): void {
    // Nobody may be moving a manual clock any more.
    if (this.port.uses.size === 1 && !this.port.manual)
      this.#environment.addon.leaveStale(this.port.id);
  }

  /** Ends the use; the last one closes the port. What has not left by then is left behind. */
  close(): void {
    this.abandon();
    this.port.uses.delete(this);
    if (this.port.uses.size === 0) this.#environment.closePort(this.port);
  }
}

/** This JavaScript environment's side of the addon: the main thread's, or a worker's. */
export class Environment {
  readonly addon: Addon;
  readonly #incoming = incomingArray();
  readonly #outgoing = requestSlots();
  readonly #questions = new Questions();
  readonly #path = pathSlots();
  readonly #service = serviceSlots();
  readonly #handles = new Map<number, NativeHandle>();
  readonly #ports = new Map<number, NativePort>();
  #held = false;
  #flushing = false;
  #exitDrainMs = 0;
  /** Handles that were alive when their provider was closed: each is a subscription that was forgotten. */
  abandoned = 0;

  constructor() {
    this.addon = loadAddon();
    this.addon.attach(
      this.#incoming,
      this.#outgoing,
      this.#questions.slots,
      (count, tables) => {
        this.#dispatch(count, tables);
      },
      (port, kind, mgid, status, saStatus, reason) => {
        const channel = CHANNELS[kind - 1];
        if (channel === undefined) return;
        const from = this.#ports.get(port);
        // When nobody was a member, no completion tells.
        if (RESET_REASONS[reason - 1] === 'device-removed' && from) from.removed = true;
        publishDiagnostic(channel, () => ({
          ...from?.place,
          // What concerns the whole port has no group.
          ...(mgid.every((word) => word === 0) ? {} : { mgid: gidOfWords(mgid) }),
          status,
          ...(saStatus < 0 ? {} : { saStatus }),
          ...(reason === 0 ? {} : { reason: RESET_REASONS[reason - 1] }),
        }));
      },
    );
    const mainThread = inMainThread();
    // Neither process.exit() nor an uncaught exception runs the addon's own hook.
    process.once('exit', () => {
      for (const handle of [...this.#handles.values()]) this.free(handle);
      this.addon.drain(this.#exitDrainMs, mainThread);
    });
  }

  openPort(kind: PortKind, options: NativePortOptions, manual: boolean, ref: boolean): PortUse {
    const id = translated(() => this.addon.openPort(kind, options));
    this.#exitDrainMs = Math.max(this.#exitDrainMs, options.exitDrainMs);
    let port = this.#ports.get(id);
    if (port === undefined) {
      const { device, port: number } = options;
      port = new NativePort(id, manual, { provider: kind, device, port: number });
      this.#ports.set(id, port);
    }
    return new PortUse(this, port, ref);
  }

  abandon(use: PortUse): void {
    for (const handle of [...this.#handles.values()]) {
      if (handle.use !== use) continue;
      this.abandoned += 1;
      this.free(handle);
    }
  }

  closePort(port: NativePort): void {
    this.#ports.delete(port.id);
    this.addon.closePort(port.id);
    // What was left of it is gone with the port; who waits for that waits no longer.
    this.#lookSettled(port);
    this.updateHold();
  }

  idle(port: NativePort): Promise<void> {
    if (!this.addon.unsettled(port.id)) return Promise.resolve();
    port.leaving = true;
    this.updateHold();
    // Other threads let frees gather, too, and may be busy with something else.
    this.addon.flush();
    return new Promise((resolve) => port.waiting.push(resolve));
  }

  join(
    use: PortUse,
    record: Readonly<McMemberRecordInit>,
    mgid: string,
    componentMask: bigint,
    callback: JoinCallback,
    group?: string,
  ): NativeHandle {
    writeRequest(this.#outgoing, record, mgid, componentMask, group);
    let id: number;
    try {
      id = this.addon.join(use.port.id);
    } catch (error) {
      throw translation(error);
    }
    return this.#handleOf(use, id, mgid, callback);
  }

  ask(use: PortUse, ask: NativeAsk, callback: NativeCallback): NativeHandle {
    const standing = 'trap' in ask;
    if (!standing) this.#questions.write(ask);
    const leaseMs = standing ? Infinity : (ask.leaseMs ?? Infinity);
    const id = translated(() => this.addon.ask(use.port.id, leaseMs, standing ? ask.trap : 0));
    return this.#handleOf(use, id, UNASSIGNED_MGID, callback);
  }

  #handleOf(use: PortUse, id: number, mgid: string, callback: NativeCallback): NativeHandle {
    const handle = new NativeHandle(use, id, mgid, callback);
    this.#handles.set(id, handle);
    use.alive += 1;
    if (use.ref) use.port.holding += 1;
    this.#flushSoon();
    this.#holdFor(use.port);
    return handle;
  }

  /** Live state of the port. */
  state(use: PortUse): PortInfo {
    return portInfo(translated(() => this.addon.portState(use.port.id)));
  }

  memberRecord(use: PortUse, mgid: string): McMemberRecord | undefined {
    writeRequest(this.#outgoing, {}, mgid, 0n);
    return this.addon.memberRecord(use.port.id) ? readRecord(this.#outgoing, 1) : undefined;
  }

  /** Legal at any time and any number of times. */
  free(handle: NativeHandle): void {
    if (handle.callback === undefined) return;
    handle.callback = undefined;
    this.#handles.delete(handle.id);
    const { use } = handle;
    use.alive -= 1;
    if (use.ref) use.port.holding -= 1;
    use.port.leaving = true;
    this.addon.free(use.port.id, handle.id);
    this.#flushSoon();
    this.#holdFor(use.port);
  }

  stats(port: number): PortStats {
    const values = new Float64Array(PORT_STATS_FIELDS.length);
    translated(() => {
      this.addon.stats(port, values);
    });
    return Object.fromEntries(
      PORT_STATS_FIELDS.map((name, index) => [name, values[index] ?? 0]),
    ) as unknown as PortStats;
  }

  /** The ports there are, of umad and of a fabric with their GID tables unless told otherwise. */
  discover(kind: PortKind, fabric = 0, gids = true): PortInfo[] {
    return translated(() => this.addon.discover(kind, fabric, gids)).map(portInfo);
  }

  createFabric(options: NativeFabricOptions): number {
    return translated(() => this.addon.fabric('create', options));
  }

  fabric(verb: string, fabric: number, ...numbers: number[]): unknown {
    return translated(() => this.addon.fabric(verb, fabric, ...numbers));
  }

  packMcMemberRecord(record: Readonly<McMemberRecordInit>): Uint8Array {
    writeRequest(this.#outgoing, record, record.mgid ?? '::', 0n);
    return this.addon.codec('packMcMemberRecord');
  }

  /** The caller has checked that there are as many bytes from `at` on as a record has. */
  unpackMcMemberRecord(bytes: Uint8Array, at = 0): McMemberRecord {
    this.addon.codec('unpackMcMemberRecord', bytes, at);
    return readRecord(this.#outgoing, 1);
  }

  packPathRecord(record: Readonly<PackablePath>): Uint8Array {
    writePath(this.#path, record);
    return this.addon.codec('packPathRecord', this.#path);
  }

  /** As for `unpackMcMemberRecord`. */
  unpackPathRecord(bytes: Uint8Array, at = 0): InfiniBandPathRecord {
    this.addon.codec('unpackPathRecord', bytes, this.#path, at);
    return readPath(this.#path);
  }

  packServiceRecord(record: Readonly<ServiceRecordInit>): Uint8Array {
    writeService(this.#service, record);
    return this.addon.codec('packServiceRecord', this.#service);
  }

  /** As for `unpackMcMemberRecord`. */
  unpackServiceRecord(bytes: Uint8Array, at = 0): ServiceRecord {
    this.addon.codec('unpackServiceRecord', bytes, this.#service, at);
    return readService(this.#service);
  }

  /** Counters of every port that is open here, for checks that nothing is left over. */
  openPorts(): { id: number; stats: PortStats }[] {
    return [...this.#ports.keys()].map((id) => ({ id, stats: this.stats(id) }));
  }

  /**
   * Before the loop turns, the engines take up what has gathered. Not sooner, since to set one to work
   * may cost more than the join: many timers of one turn may each join.
   */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    this.addon.flush();
  };

  /** A port may have become a reason to go on; most often the loop is held already. */
  #holdFor(port: NativePort): void {
    if (!this.#held || !port.holds) this.updateHold();
  }

  updateHold(): void {
    let held = false;
    for (const port of this.#ports.values()) held ||= port.holds;
    if (held === this.#held) return;
    this.#held = held;
    this.addon.hold(held);
  }

  /** The engine may have come to rest. */
  #lookSettled(port: NativePort): void {
    if (!port.leaving || this.addon.unsettled(port.id)) return;
    port.leaving = false;
    for (const resolve of port.waiting.splice(0)) resolve();
  }

  #dispatch(count: number, tables?: Uint8Array): void {
    if (count < 0) {
      // Twice, since the first may belong to the turn in which completions have just been dispatched.
      setImmediate(() => {
        setImmediate(() => {
          this.addon.resume();
        });
      });
      return;
    }
    if (count === 0) {
      for (const port of [...this.#ports.values()]) this.#lookSettled(port);
      this.updateHold();
      return;
    }
    // Read whole before anybody is told: a handler may cause the array to be written again.
    const handles: NativeHandle[] = [];
    const completions: JoinCompletion[] = [];
    const answers: (NativeTable | undefined)[] = [];
    for (let i = 0; i < count; i += 1) {
      const handle = this.#handles.get(completionHandle(this.#incoming, i));
      if (handle === undefined) continue;
      handles.push(handle);
      completions.push(readCompletion(this.#incoming, i, handle.mgid));
      answers.push(tables && readTable(this.#incoming, i, tables));
    }
    for (let i = 0; i < handles.length; i += 1) {
      const handle = handles[i];
      const completion = completions[i];
      if (handle === undefined || completion === undefined) continue;
      // Before the diagnostic: whoever is told may join again at once.
      if (completion.reason === 'device-removed' || completion.status === Errno.ENODEV) {
        handle.use.port.removed = true;
      }
      try {
        handle.callback?.(completion, answers[i]);
      } catch (error) {
        // One consumer's fault must not keep the others from their events, nor go unnoticed.
        setImmediate(() => {
          throw error;
        });
      }
    }
  }
}

let environment: Environment | undefined;

/**
 * The environment of this thread. The first call loads the addon.
 *
 * @throws MulticastError ENODEV when the addon cannot be loaded.
 */
export function nativeEnvironment(): Environment {
  environment ??= new Environment();
  return environment;
}

/** The environment of this thread, if anything has needed the addon so far. */
export function loadedEnvironment(): Environment | undefined {
  return environment;
}

/** What a join at a closed provider gets. */
export function closedError(name: string): MulticastError {
  return new MulticastError(`the ${name} provider is closed; make a new one`, {
    status: Errno.ESHUTDOWN,
  });
}
