import { canonicalMgid } from '../address/mgid.js';
import { defaultProvider } from '../providers/default-provider.js';
import type { MulticastProvider } from '../contract/provider.js';
import type { SaClient } from '../contract/sa-client.js';
import { publishDiagnostic } from '../errors/diagnostics.js';
import { Errno } from '../errors/errno.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import { gidText } from '../records/field-checks.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { checkDevice, checkPort, checkProvider } from './join-request.js';
import { checkDuration } from './time-options.js';

/** Where the joins of a client go. */
export interface SaClientOptions {
  /** Default: the provider that a request with an MGID would get. */
  provider?: MulticastProvider | undefined;
  /** RDMA device name. Default: chosen by the provider for each join. */
  device?: string | undefined;
  /** 1-based. Default: chosen by the provider for each join. */
  port?: number | undefined;
}

/** Things named in a message at most. */
const MOST_NAMED = 5;
/** Milliseconds of waiting after which a diagnostic says what for. */
const REPORT_AFTER_MS = 5_000;

class RegisteredClient implements SaClient {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  /** What is under way, and how many of each. */
  readonly #underWay = new Map<string, number>();
  #unregistered: Promise<void> | undefined;
  #noneUnderWay: (() => void) | undefined;

  constructor(provider: MulticastProvider, device: string | undefined, port: number | undefined) {
    this.provider = provider;
    if (device !== undefined) this.device = device;
    if (port !== undefined) this.port = port;
  }

  get registered(): boolean {
    return this.#unregistered === undefined;
  }

  unregister(options: { timeoutMs?: number } = {}): Promise<void> {
    checkKnownOptions(options, ['timeoutMs'], 'unregister()');
    const limit = checkDuration('timeoutMs', options.timeoutMs, {
      byDefault: Infinity,
      zero: true,
      infinity: true,
    });
    this.#unregistered ??= this.#drain();
    return limit === Infinity ? this.#unregistered : this.#within(this.#unregistered, limit);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.unregister();
  }

  mcMemberRecord(mgid: string): McMemberRecord {
    const wanted = gidText('mgid', mgid, canonicalMgid);
    const place = {
      ...(this.device === undefined ? {} : { device: this.device }),
      ...(this.port === undefined ? {} : { port: this.port }),
    };
    const details = { ...place, mgid: wanted, syscall: 'mcMemberRecord' };
    if (this.provider.memberRecord === undefined) {
      throw new MulticastError(
        `the provider '${this.provider.name}' keeps no records; use the record of the joined event`,
        { status: Errno.EOPNOTSUPP, ...details },
      );
    }
    const record = this.provider.memberRecord(wanted, place);
    if (record !== undefined) return record;
    throw new MulticastError(
      `${wanted}: EADDRNOTAVAIL: this process is no member of the group; join it first`,
      { status: Errno.EADDRNOTAVAIL, ...details },
    );
  }

  /** Counts something that begins. The caller checks `registered` first. */
  begin(what: string): void {
    this.#underWay.set(what, (this.#underWay.get(what) ?? 0) + 1);
  }

  /** Counts what was freed, or could not begin. */
  end(what: string): void {
    const left = (this.#underWay.get(what) ?? 0) - 1;
    if (left > 0) this.#underWay.set(what, left);
    else this.#underWay.delete(what);
    if (this.#underWay.size === 0) this.#noneUnderWay?.();
  }

  /** What `unregister()` is waiting for, as a list for people. */
  #pending(): string {
    if (this.#underWay.size === 0) return 'leaves that the fabric has not answered';
    const named = [...this.#underWay].map(([what, count]) =>
      count === 1 ? what : `${what} (${String(count)})`,
    );
    const more = named.length - MOST_NAMED;
    return `${named.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
  }

  async #drain(): Promise<void> {
    const report = setTimeout(() => {
      publishDiagnostic('rx-ib-multicast:unregister-waiting', () => ({
        provider: this.provider.name,
        device: this.device,
        port: this.port,
        pending: this.#pending(),
      }));
    }, REPORT_AFTER_MS);
    report.unref();
    try {
      if (this.#underWay.size > 0) {
        await new Promise<void>((resolve) => {
          this.#noneUnderWay = resolve;
        });
      }
      await this.provider.idle?.();
    } finally {
      clearTimeout(report);
    }
  }

  /** As `whole`, but rejected when it takes longer than the limit. */
  async #within(whole: Promise<void>, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(
          new MulticastError(
            `ETIMEDOUT: not unregistered within timeoutMs (${String(limitMs)} ms); still waiting for ${this.#pending()}`,
            {
              status: Errno.ETIMEDOUT,
              syscall: 'unregister',
              device: this.device,
              port: this.port,
            },
          ),
        );
      }, limitMs);
    });
    try {
      await Promise.race([whole, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Registers a client: joins made with `request.client` go to its provider, device and port, and
 * `unregister()` waits for all of them. It ends none of them: unsubscribe, then unregister, or the
 * other way round. A join through a client whose `unregister()` was called fails with ESHUTDOWN.
 *
 * @throws TypeError or RangeError for options that are not as documented, MulticastError ENODEV when
 * no provider is given and none is usable.
 */
export function registerSaClient(options: SaClientOptions = {}): SaClient {
  checkKnownOptions(options, ['provider', 'device', 'port'], 'registerSaClient()');
  const { provider, device, port } = options;
  if (provider !== undefined) checkProvider(provider);
  if (device !== undefined) checkDevice(device);
  if (port !== undefined) checkPort(port);
  return new RegisteredClient(
    provider ??
      defaultProvider({
        ...(device === undefined ? {} : { device }),
        ...(port === undefined ? {} : { port }),
      }),
    device,
    port,
  );
}

/** Counts what is under way through a client; each thing by a name for people. */
export interface ClientScope {
  begin(what: string): void;
  end(what: string): void;
}

/**
 * The bookkeeping behind a client.
 *
 * @throws TypeError for a client that `registerSaClient()` did not make.
 */
export function clientScope(client: SaClient): ClientScope {
  if (client instanceof RegisteredClient) return client;
  throw new TypeError('client was not made by registerSaClient()');
}

/** The failure of a join through a client that was unregistered. */
export function unregisteredError(client: SaClient, mgid: string | undefined): MulticastError {
  return new MulticastError(
    'the SA client was unregistered and takes no new work; register a new one',
    { status: Errno.ESHUTDOWN, device: client.device, port: client.port, mgid },
  );
}
