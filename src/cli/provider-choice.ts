import type { MulticastProvider, SaPortOptions } from '../contract/provider.js';
import { MulticastError } from '../errors/multicast-error.js';
import { defaultProvider } from '../providers/default-provider.js';
import { embeddedFabric } from '../providers/embedded-fabric.js';
import { umad } from '../providers/umad.js';

/** The providers that `--provider` can name. */
export const PROVIDER_NAMES = ['umad', 'embedded'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Stands in for a provider that cannot be made, so that its failure arrives as an event. */
function unusable(name: string, error: MulticastError): MulticastProvider {
  return {
    name,
    joinMulticast: () => {
      throw error;
    },
    freeMulticast: () => undefined,
  };
}

/**
 * The provider that was named, or else the one that a request without a provider gets, in either case
 * with these options.
 */
export function chooseProvider(
  name: ProviderName | undefined,
  request: { mgid?: string; group?: string; device?: string; port?: number },
  options: SaPortOptions,
): MulticastProvider {
  try {
    if (name === 'embedded') return embeddedFabric(options);
    if (name === 'umad') return umad(options);
    const chosen = defaultProvider(request);
    return chosen.name === 'umad' ? umad(options) : chosen;
  } catch (error) {
    if (error instanceof MulticastError) return unusable(name ?? 'none', error);
    throw error;
  }
}
