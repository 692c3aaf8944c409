import type { MulticastProvider } from '../contract/provider.js';
import type { SaClient } from '../contract/sa-client.js';
import { defaultProvider } from '../providers/default-provider.js';
import { checkDevice, checkPort, checkProvider } from './join-request.js';
import { clientScope, unregisteredError } from './sa-client.js';
import type { ClientScope } from './sa-client.js';
import { shown } from '../errors/shown.js';

/** Where to ask: at a client's port, or at a port of a provider. */
export interface PlaceOptions {
  /** Default: the provider that a join by MGID would get. */
  provider?: MulticastProvider;
  /** Excludes `provider`, `device` and `port`. */
  client?: SaClient;
  /** RDMA device name. Default: the first device with an active port. */
  device?: string;
  /** 1-based. Default: the first active port. */
  port?: number;
}

/** The names of the options of a place. */
export const PLACE_OPTIONS = [
  'provider',
  'client',
  'device',
  'port',
] as const satisfies readonly (keyof PlaceOptions)[];

/** A place that was chosen. */
export interface Place {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  /** Counts what is under way for `unregister()`. */
  readonly scope: ClientScope | undefined;
}

/**
 * Checks the options of a place.
 *
 * @throws TypeError or RangeError that names the option and the accepted values.
 */
export function checkPlace(options: PlaceOptions): void {
  const { provider, client, device, port } = options;
  if (client !== undefined) {
    if (typeof client !== 'object' || (client as unknown) === null) {
      throw new TypeError(`client is ${shown(client)}; expected what registerSaClient() gives`);
    }
    clientScope(client);
    const excluded = (['provider', 'device', 'port'] as const).find(
      (name) => options[name] !== undefined,
    );
    if (excluded !== undefined) {
      throw new TypeError(
        `${excluded} is given beside client; a client has its own provider, device and port`,
      );
    }
  }
  if (provider !== undefined) checkProvider(provider);
  if (device !== undefined) checkDevice(device);
  if (port !== undefined) checkPort(port);
}

/**
 * Chooses provider, device and port of checked options.
 *
 * @param needed One that lacks it is not asked for a port: that is not what is wrong then.
 * @param resolve Whether the provider is asked for the port; false where it is known already.
 * @throws MulticastError for what the machine lacks, and ESHUTDOWN for a client that is unregistered.
 */
export function choosePlace(
  options: PlaceOptions,
  needed: 'query' | 'registerService' | 'watchGroups',
  resolve = true,
): Place {
  const { client } = options;
  if (client?.registered === false) throw unregisteredError(client, undefined);
  const { device, port } = client ?? options;
  const wish = {
    ...(device === undefined ? {} : { device }),
    ...(port === undefined ? {} : { port }),
  };
  const provider = client?.provider ?? options.provider ?? defaultProvider(wish);
  return {
    provider,
    ...wish,
    ...(resolve && provider[needed] !== undefined ? provider.resolvePort?.(wish) : {}),
    scope: client === undefined ? undefined : clientScope(client),
  };
}
