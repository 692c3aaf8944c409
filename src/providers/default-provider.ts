import type { MulticastProvider } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import { umad } from './umad.js';

let shared: MulticastProvider | undefined;

/**
 * The provider of a request that names none: umad with its default options, shared by all such
 * requests. The embedded fabric is never chosen: nobody shall take a simulation for the fabric.
 *
 * @throws MulticastError ENODEV that lists what was tried and why it failed.
 */
export function defaultProvider(request: {
  mgid?: string;
  group?: string;
  device?: string;
  port?: number;
}): MulticastProvider {
  shared ??= umad();
  try {
    shared.ports?.();
    return shared;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MulticastError(
      `no provider is usable: umad: ${why}. To try things out without a fabric, pass provider: embeddedFabric()`,
      { status: Errno.ENODEV, mgid: request.mgid, cause },
    );
  }
}
