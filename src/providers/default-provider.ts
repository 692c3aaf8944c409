import type { MulticastProvider } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';

/** Chooses the provider of a request that names none; throws ENODEV when none is usable. */
export function defaultProvider(request: {
  mgid?: string;
  group?: string;
  device?: string;
  port?: number;
}): MulticastProvider {
  throw new MulticastError('no provider', { status: Errno.ENODEV, mgid: request.mgid });
}
