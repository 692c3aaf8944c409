import { nativeEnvironment } from '../binding/environment.js';
import type { MulticastProvider } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import { rdmacm, whyInexpressible, whyUnreachable } from './rdmacm.js';
import type { RdmacmProvider } from './rdmacm.js';
import { listPorts, NO_DEVICE } from './select-port.js';
import { umad } from './umad.js';
import type { UmadProvider } from './umad.js';

/** What of a request decides about its provider. */
interface Wanted {
  readonly mgid?: string;
  readonly group?: string;
  readonly device?: string;
  readonly port?: number;
  readonly record?: Readonly<McMemberRecordInit>;
}

let sharedRdmacm: RdmacmProvider | undefined;
let sharedUmad: UmadProvider | undefined;

/** Runs a check that gives a reason against a provider; what it throws is one as well. */
function reasonAgainst(check: () => string | undefined, shortages: number[]): string | undefined {
  try {
    return check();
  } catch (error) {
    // Then nobody can say what this machine lacks.
    if (error instanceof MulticastError && /^E[MN]FILE$/.test(error.code)) {
      shortages.push(error.status);
    }
    return error instanceof Error ? error.message : String(error);
  }
}

/** Where to go without a fabric. The embedded one is no way out where the addon does not load. */
function simulationHint(): string {
  try {
    nativeEnvironment();
    return '. To try things out without a fabric, pass provider: embeddedFabric()';
  } catch {
    return '';
  }
}

/**
 * The provider of a request that names none, with its default options and shared by all such
 * requests: for an MGID umad, for an IP group rdmacm where it can join just that now, else umad. The
 * embedded fabric is never chosen: nobody shall take a simulation for the fabric.
 *
 * @throws MulticastError ENODEV that lists what was tried and why each failed; EMFILE or ENFILE
 * instead where that is why.
 */
export function defaultProvider(request: Wanted): MulticastProvider {
  const tried: string[] = [];
  const shortages: number[] = [];
  if (request.group !== undefined) {
    const provider = (sharedRdmacm ??= rdmacm());
    const reason =
      whyInexpressible(request.record ?? {})?.what ??
      reasonAgainst(() => whyUnreachable(provider.ports(), request), shortages);
    if (reason === undefined) return provider;
    tried.push(`rdmacm: ${reason}`);
  }
  const provider = (sharedUmad ??= umad());
  const reason = reasonAgainst(() => {
    const ports = provider.ports();
    // One that is down or unknown to a subnet manager may come up: that is EAGAIN, and not ENODEV.
    return ports.some((info) => info.linkLayer !== 'ethernet')
      ? undefined
      : ports.length === 0
        ? NO_DEVICE
        : `no InfiniBand port; ${listPorts(ports)}`;
  }, shortages);
  if (reason === undefined) return provider;
  tried.push(`umad: ${reason}`);
  throw new MulticastError(`no provider is usable: ${tried.join('. ')}${simulationHint()}`, {
    status: shortages[0] ?? Errno.ENODEV,
    mgid: request.mgid,
    device: request.device,
    port: request.port,
  });
}
