import { nativeEnvironment } from '../binding/environment.js';
import type { PortInfo } from '../contract/provider.js';
import { rdmacm } from './rdmacm.js';
import { listPorts, NO_DEVICE } from './select-port.js';
import { umad } from './umad.js';

/** Whether a provider can be used here, and if not, why. */
export interface ProviderCapability {
  readonly usable: boolean;
  /** Why not, or what there is. */
  readonly reason: string;
}

/** What this machine offers, per provider. */
export interface Capabilities {
  readonly embedded: ProviderCapability;
  readonly umad: ProviderCapability;
  readonly rdmacm: ProviderCapability;
}

function probe(run: () => ProviderCapability): ProviderCapability {
  try {
    return run();
  } catch (error) {
    return { usable: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Says per provider whether it is usable, or why not. Never throws. */
export function capabilities(): Capabilities {
  return {
    embedded: probe(() => {
      nativeEnvironment();
      return { usable: true, reason: 'a simulation in this process; it needs nothing' };
    }),
    umad: probe(() => {
      const ports = umad().ports();
      const usable = ports.some((info) => info.linkLayer !== 'ethernet' && info.state === 'active');
      return {
        usable,
        reason: usable
          ? listPorts(ports)
          : ports.length === 0
            ? NO_DEVICE
            : `no active InfiniBand port: ${listPorts(ports)}`,
      };
    }),
    rdmacm: probe(() => {
      const ports = rdmacm().ports();
      const reached = ports.filter(
        (info) =>
          info.state === 'active' && info.addresses !== undefined && info.addresses.length > 0,
      );
      return {
        usable: reached.length > 0,
        reason:
          reached.length > 0
            ? `joins through ${reached.map((info) => `${info.device} port ${String(info.port)} (${info.addresses?.join(', ') ?? ''})`).join(', ')}`
            : `no active port with an IP address: ${listPorts(ports)}`,
      };
    }),
  };
}

/**
 * The RDMA ports of this machine; empty where there are none.
 *
 * @throws MulticastError where it cannot be found out, for lack of a library for example.
 */
export function listDevices(): PortInfo[] {
  try {
    return umad().ports();
  } catch (error) {
    try {
      return rdmacm().ports();
    } catch {
      // The first complaint is about InfiniBand, which is what this package is mostly about.
      throw error;
    }
  }
}
