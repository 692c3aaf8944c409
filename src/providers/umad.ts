import { nativeEnvironment } from '../binding/environment.js';
import type { Environment, PortUse } from '../binding/environment.js';
import type { MulticastProvider, PortInfo, SaPortOptions } from '../contract/provider.js';
import type { ProviderStats } from '../contract/stats.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { checkSaPortOptions, nativePortOptions } from './sa-port-options.js';
import { SA_PORT_OPTIONS } from './sa-port-options.js';
import type { CheckedSaPortOptions } from './sa-port-options.js';
import { SaProvider } from './sa-provider.js';

/** A provider that joins at the fabric's subnet administrator through libibumad. */
export interface UmadProvider extends MulticastProvider {
  ports(): PortInfo[];
  idle(): Promise<void>;
  stats(): ProviderStats;
  /** Waits until all has left, then closes the ports that no other provider uses. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

class Umad extends SaProvider implements UmadProvider {
  readonly name = 'umad';
  readonly #options: CheckedSaPortOptions;

  constructor(options: CheckedSaPortOptions) {
    super();
    this.#options = options;
  }

  ports(): PortInfo[] {
    return nativeEnvironment().discover('umad');
  }

  // Reading GID tables takes longer than joining.
  protected override candidates(): PortInfo[] {
    return nativeEnvironment().discover('umad', 0, false);
  }

  protected open(environment: Environment, device: string, port: number): PortUse {
    const options = { ...nativePortOptions(this.#options), device, port };
    return environment.openPort('umad', options, false, this.#options.ref);
  }
}

/**
 * Joins at the real subnet administrator, by MADs over libibumad. Needs an InfiniBand port and
 * access to `/dev/infiniband/umad*`.
 *
 * A port is opened once per process: all providers and worker threads share it, and the options of
 * the first opener govern. Other options are refused with EBUSY.
 *
 * @throws TypeError or RangeError for options that are not as documented. Nothing is opened yet.
 */
export function umad(options: SaPortOptions = {}): UmadProvider {
  checkKnownOptions(options, SA_PORT_OPTIONS, 'umad()');
  return new Umad(checkSaPortOptions(options));
}
