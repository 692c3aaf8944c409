import { closedError, NativeHandle, nativeEnvironment } from '../binding/environment.js';
import type { Environment, PortUse } from '../binding/environment.js';
import { PORT_STATS_FIELDS } from '../binding/stats-fields.js';
import type {
  JoinCallback,
  MulticastHandle,
  MulticastProvider,
  PortInfo,
  PortWish,
} from '../contract/provider.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import type { PortStats, ProviderStats } from '../contract/stats.js';

export interface PortPlace {
  readonly device: string;
  readonly port: number;
}

/** A port as a provider keeps it. */
export interface OpenedPort {
  readonly device: string;
  readonly port: number;
  readonly native: PortUse;
}

function portKey(device: string, port: number): string {
  return `${device}/${String(port)}`;
}

/** A provider behind the addon: keeps the ports that it has open. */
export abstract class NativeProvider implements MulticastProvider {
  abstract readonly name: string;
  /** For whoever closes what a forgotten provider has left open. */
  protected readonly opened: Map<string, OpenedPort> = new Map();
  /** The one asked for last: most processes use one port. */
  #last: OpenedPort | undefined;
  #listed: readonly PortInfo[] | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  /** Opens a port that `ports()` has listed. */
  protected abstract open(environment: Environment, device: string, port: number): PortUse;

  /** Every port there is, opened or not. */
  abstract ports(): PortInfo[];

  /** The same, with what choosing takes. */
  protected candidates(): PortInfo[] {
    return this.ports();
  }

  /** Chooses among the ports there are. */
  protected abstract choosePort(ports: readonly PortInfo[], request: PortWish): PortPlace;

  resolvePort(request: PortWish): PortPlace {
    if (this.#closed) throw closedError(this.name);
    if (request.device !== undefined && request.port !== undefined) {
      const { device, port } = request;
      if (this.opened.has(portKey(device, port))) return { device, port };
    }
    if (this.#listed === undefined) {
      // Many joins are often made in one go; the ports are looked up once for all of them.
      this.#listed = this.candidates();
      queueMicrotask(() => {
        this.forgetPorts();
      });
    }
    return this.choosePort(this.#listed, request);
  }

  /** The ports are looked up anew for the next request. */
  protected forgetPorts(): void {
    this.#listed = undefined;
  }

  abstract joinMulticast(request: ResolvedJoinRequest, callback: JoinCallback): MulticastHandle;

  freeMulticast(handle: MulticastHandle): void {
    if (!(handle instanceof NativeHandle)) {
      throw new TypeError(`the handle was not made by the ${this.name} provider`);
    }
    nativeEnvironment().free(handle);
  }

  async idle(): Promise<void> {
    await Promise.all([...this.opened.values()].map(({ native }) => native.idle()));
  }

  stats(): ProviderStats {
    const ports = [...this.opened.values()].map(({ device, port, native }) => ({
      device,
      port,
      ...native.stats(),
    }));
    const sum = Object.fromEntries(
      PORT_STATS_FIELDS.map((name) => [name, ports.reduce((total, one) => total + one[name], 0)]),
    ) as unknown as PortStats;
    return { ...sum, ports };
  }

  /**
   * Waits until every freed handle has left, then lets go of the ports. Memberships that are still
   * alive are freed without a word to their streams, so unsubscribe first. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.shutDown();
    return this.#closing;
  }

  /** What `close()` does, once. */
  protected async shutDown(): Promise<void> {
    this.#closed = true;
    for (const { native } of this.opened.values()) {
      native.abandon();
      native.leaveStale();
    }
    await this.idle();
    this.closePorts();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected get closed(): boolean {
    return this.#closed;
  }

  protected closePorts(): void {
    this.#closed = true;
    for (const { native } of this.opened.values()) native.close();
    this.opened.clear();
  }

  /** The place of a request: as it was resolved, or else resolved now. */
  protected placeOf(request: PortWish): { device: string; port: number } {
    const { device, port } = request;
    return device !== undefined && port !== undefined
      ? { device, port }
      : this.resolvePort(request);
  }

  /** The ports that are open and may be the one of a request. */
  protected openPorts(wish: { device?: string; port?: number }): PortUse[] {
    return [...this.opened.values()]
      .filter(({ device }) => wish.device === undefined || wish.device === device)
      .filter(({ port }) => wish.port === undefined || wish.port === port)
      .map(({ native }) => native);
  }

  /** The port, opened if it is not. */
  protected openedPort(device: string, port: number): PortUse {
    if (this.#closed) throw closedError(this.name);
    const last = this.#last;
    if (last?.device === device && last.port === port && !last.native.removed) return last.native;
    const key = portKey(device, port);
    const known = this.opened.get(key);
    // A deaf port answers ENODEV until the last of its members has been told.
    if (known !== undefined && (!known.native.removed || known.native.alive > 0)) {
      this.#last = known;
      return known.native;
    }
    if (known !== undefined) {
      // The device may have come back; the old port is deaf for good.
      this.opened.delete(key);
      known.native.close();
    }
    const native = this.open(nativeEnvironment(), device, port);
    this.#last = { device, port, native };
    this.opened.set(key, this.#last);
    return native;
  }
}
