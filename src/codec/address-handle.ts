import { parseGid } from '../address/gid.js';
import { multicastMac } from '../address/multicast-mac.js';
import type { AddressHandle } from '../contract/address-handle.js';
import type { PortInfo } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import type { McMemberRecord } from '../records/mc-member-record.js';

/** What of a port, as `ports()` lists it, an address handle is made from. */
export type AddressHandlePort = Pick<PortInfo, 'port' | 'gid' | 'gids' | 'linkLayer'> & {
  readonly device?: string;
};

/**
 * How to send to a group that was joined: what the kernel's `ib_init_ah_from_mcmember` makes of the
 * record. The source GID is the record's `portGid`, found in the GID table of the port; without
 * `gids` the port has its first GID only.
 *
 * @throws MulticastError ENOENT, as the kernel, when the port does not have that GID.
 */
export function addressHandleFromMcMember(
  record: McMemberRecord,
  port: AddressHandlePort,
): AddressHandle {
  const gids = port.gids ?? [port.gid];
  const wanted = parseGid(record.portGid);
  const sgidIndex = gids.findIndex((gid) => parseGid(gid).every((byte, at) => byte === wanted[at]));
  if (sgidIndex < 0) {
    throw new MulticastError(
      `ENOENT: the port has no GID ${record.portGid}; it has ${gids.join(', ')}. Was the record made by another port?`,
      {
        status: Errno.ENOENT,
        syscall: 'addressHandleFromMcMember',
        device: port.device,
        port: port.port,
        mgid: record.mgid,
      },
    );
  }
  const roce = port.linkLayer === 'ethernet';
  return {
    type: roce ? 'roce' : 'infiniband',
    port: port.port,
    dlid: roce ? 0 : record.mlid,
    sl: record.sl,
    staticRate: record.rate,
    grh: {
      sgidIndex,
      dgid: record.mgid,
      flowLabel: record.flowLabel,
      hopLimit: record.hopLimit,
      trafficClass: record.trafficClass,
    },
    ...(roce ? { dmac: multicastMac(record.mgid) } : {}),
  };
}
