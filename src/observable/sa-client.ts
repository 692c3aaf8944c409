import { defaultProvider } from '../providers/default-provider.js';
import type { MulticastProvider } from '../contract/provider.js';
import type { SaClient } from '../contract/sa-client.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import { checkDevice, checkPort, checkProvider } from './join-request.js';

/** Where the joins of a client go. */
export interface SaClientOptions {
  /** Default: the provider that a request with an MGID would get. */
  provider?: MulticastProvider;
  /** RDMA device name. Default: chosen by the provider for each join. */
  device?: string;
  /** 1-based. Default: chosen by the provider for each join. */
  port?: number;
}

class RegisteredClient implements SaClient {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  #alive = 0;
  #unregistered: Promise<void> | undefined;
  #noneAlive: (() => void) | undefined;

  constructor(provider: MulticastProvider, device: string | undefined, port: number | undefined) {
    this.provider = provider;
    if (device !== undefined) this.device = device;
    if (port !== undefined) this.port = port;
  }

  get registered(): boolean {
    return this.#unregistered === undefined;
  }

  unregister(): Promise<void> {
    this.#unregistered ??= this.#drain();
    return this.#unregistered;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.unregister();
  }

  /** Counts a join that begins. The caller checks `registered` first. */
  begin(): void {
    this.#alive += 1;
  }

  /** Counts a handle that was freed, or a join that could not begin. */
  end(): void {
    this.#alive -= 1;
    if (this.#alive === 0) this.#noneAlive?.();
  }

  async #drain(): Promise<void> {
    if (this.#alive > 0) {
      await new Promise<void>((resolve) => {
        this.#noneAlive = resolve;
      });
    }
    await this.provider.idle?.();
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
export function registerSaClient(
  options: SaClientOptions = {},
): SaClient & { [Symbol.asyncDispose](): Promise<void> } {
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

/**
 * The bookkeeping behind a client.
 *
 * @throws TypeError for a client that `registerSaClient()` did not make.
 */
export function clientScope(client: SaClient): { begin(): void; end(): void } {
  if (client instanceof RegisteredClient) return client;
  throw new TypeError('client was not made by registerSaClient()');
}

/** The failure of a join through a client that was unregistered. */
export function unregisteredError(client: SaClient, mgid: string | undefined): MulticastError {
  return new MulticastError(
    'the SA client was unregistered and takes no new joins; register a new one',
    { status: Errno.ESHUTDOWN, device: client.device, port: client.port, mgid },
  );
}
