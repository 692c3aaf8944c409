import { canonicalGid, parseGid } from '../address/gid.js';
import { multicastMac } from '../address/multicast-mac.js';
import type { AddressHandle } from '../contract/address-handle.js';
import type { PortInfo } from '../contract/provider.js';
import { Errno } from '../errors/errno.js';
import { MulticastError } from '../errors/multicast-error.js';
import { shown } from '../errors/shown.js';
import { gidText } from '../records/field-checks.js';
import type { McMemberRecord } from '../records/mc-member-record.js';

/** What of a port, as `ports()` lists it, an address handle is made from. */
export type AddressHandlePort = Pick<PortInfo, 'port' | 'gid' | 'gids' | 'linkLayer'> & {
  readonly device?: string;
};

function checkObject(name: string, value: unknown, expected: string): void {
  if (typeof value === 'object' && value !== null) return;
  throw new TypeError(`the ${name} is ${shown(value)}; expected ${expected}`);
}

/**
 * How to send to a group that was joined: what the kernel's `ib_init_ah_from_mcmember` makes of the
 * record. The source GID is the record's `portGid`, found in the GID table of the port; without
 * `gids` the port has its first GID only.
 *
 * @throws TypeError for what is no record or no port, MulticastError ENOENT, as the kernel, when the port does not have that GID.
 */
export function addressHandleFromMcMember(
  record: McMemberRecord,
  port: AddressHandlePort,
): AddressHandle {
  checkObject('record', record, 'the record of a joined event');
  checkObject('port', port, 'one that ports() lists');
  const gids = port.gids ?? [port.gid];
  const wanted = parseGid(gidText('record.portGid', record.portGid, canonicalGid));
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
