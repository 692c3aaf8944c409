import type { MulticastProvider, SaPortOptions } from '../contract/provider.js';
import { MulticastError } from '../errors/multicast-error.js';
import { defaultProvider } from '../providers/default-provider.js';
import { embeddedFabric } from '../providers/embedded-fabric.js';
import { rdmacm } from '../providers/rdmacm.js';
import { umad } from '../providers/umad.js';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import { UsageError } from './exit-code.js';

/** The providers that `--provider` can name. */
export const PROVIDER_NAMES = ['umad', 'rdmacm', 'embedded'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Stands in for a provider that cannot be made, so that its failure arrives where it is used. */
function unusable(name: string, error: MulticastError): MulticastProvider {
  const refuse = (): never => {
    throw error;
  };
  return {
    name,
    joinMulticast: refuse,
    query: refuse,
    registerService: refuse,
    watchGroups: refuse,
    freeMulticast: () => undefined,
  };
}

/**
 * The provider that was named, or else the one that a request without a provider gets, in either case
 * with these options.
 */
export function chooseProvider(
  name: ProviderName | undefined,
  request: {
    mgid?: string;
    group?: string;
    device?: string;
    port?: number;
    record?: McMemberRecordInit;
  },
  options: SaPortOptions,
): MulticastProvider {
  const { exitDrainMs } = options;
  const kernelOptions = exitDrainMs === undefined ? {} : { exitDrainMs };
  const forSaClient =
    options.requestTimeoutMs !== undefined ||
    options.auditIntervalMs !== undefined ||
    options.probe !== undefined;
  if (name === 'rdmacm' && forSaClient) {
    throw new UsageError(
      'with --provider rdmacm the kernel talks to the subnet manager, and takes none of --request-timeout, --audit-interval and --probe.',
    );
  }
  try {
    if (name === 'embedded') return embeddedFabric(options);
    if (name === 'umad') return umad(options);
    if (name === 'rdmacm') return rdmacm(kernelOptions);
    const chosen = defaultProvider(request);
    // Who sets something of the SA client asks for the SA client.
    return chosen.name === 'rdmacm' && !forSaClient ? rdmacm(kernelOptions) : umad(options);
  } catch (error) {
    if (error instanceof MulticastError) return unusable(name ?? 'none', error);
    throw error;
  }
}
