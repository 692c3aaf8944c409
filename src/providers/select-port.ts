import type { PortInfo } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';

/** One line that names the ports there are. */
export function listPorts(ports: readonly PortInfo[]): string {
  if (ports.length === 0) return 'there are no devices';
  return `there are ${ports
    .map((info) => {
      const layer = info.linkLayer === 'infiniband' ? '' : `, ${info.linkLayer}`;
      return `${info.device} port ${String(info.port)} (${info.state}${layer})`;
    })
    .join(', ')}`;
}

/** What is said where there is no port at all. */
export const NO_DEVICE =
  'no InfiniBand device was found; check that its driver and the kernel module ib_umad are loaded';

/**
 * Chooses the port of a request: the one it names, or the first active InfiniBand port of what it
 * leaves open. A named port is taken whatever its state: the engine says EAGAIN while it is down.
 *
 * @throws MulticastError ENODEV for an unknown device or port and for one that is no InfiniBand
 * port, EAGAIN when no port is active; both name what exists.
 */
export function selectPort(
  ports: readonly PortInfo[],
  wanted: { device?: string | undefined; port?: number | undefined },
): { device: string; port: number } {
  const { device, port } = wanted;
  const fail = (status: number, what: string): MulticastError =>
    new MulticastError(`${what}; ${listPorts(ports)}`, { status, device, port });

  const ofDevice = ports.filter((info) => device === undefined || info.device === device);
  if (ofDevice.length === 0) {
    throw fail(Errno.ENODEV, device === undefined ? NO_DEVICE : `there is no device '${device}'`);
  }
  const candidates = ofDevice.filter((info) => port === undefined || info.port === port);
  if (candidates.length === 0) {
    throw fail(
      Errno.ENODEV,
      device === undefined
        ? `no device has a port ${String(port)}`
        : `device '${device}' has no port ${String(port)}`,
    );
  }
  const usable = candidates.filter((info) => info.linkLayer !== 'ethernet');
  const [only] = usable;
  if (only === undefined) {
    throw fail(
      Errno.ENODEV,
      'the link layer is Ethernet (RoCE), which has no subnet administrator; use an InfiniBand port, or the rdmacm provider for RoCE',
    );
  }
  if (device !== undefined && port !== undefined) return { device, port };
  const active = usable.find((info) => info.state === 'active');
  if (active !== undefined) return { device: active.device, port: active.port };
  throw fail(
    Errno.EAGAIN,
    'no port is active; check the cable and that a subnet manager is running, then try again',
  );
}
