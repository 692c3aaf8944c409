import { formatGid } from './gid.js';
import { parseIpGroup } from './ip-group.js';

/** What the mapping needs to know beside the group. */
export interface IpoibOptions {
  /** P_Key of the IPoIB link. Default 0xffff. Bit 15 is set in the MGID whatever it is here. */
  pkey?: number | undefined;
  /** Scope of the IPoIB link, 0 to 15. Default 2, link-local; for an IPv6 group the scope of its address. */
  scope?: number | undefined;
}

const LINK_LOCAL = 2;

/**
 * The MGID that IPoIB uses for an IP multicast group (RFC 4391, section 4):
 * `ff1<scope>:401b:<pkey>::<low 28 bits>` for IPv4, `ff1<scope>:601b:<pkey>:<low 80 bits>` for IPv6.
 *
 * @throws TypeError or RangeError for a group that is no multicast address, RangeError for options
 * out of range.
 */
export function ipoibMgid(group: string, options: IpoibOptions = {}): string {
  const { family, bytes } = parseIpGroup(group);
  const pkey = options.pkey ?? 0xffff;
  if (!Number.isInteger(pkey) || pkey < 0 || pkey > 0xffff || (pkey & 0x7fff) === 0) {
    throw new RangeError(
      `pkey is ${String(pkey)}; expected an integer from 1 to 0xffff, except 0x8000`,
    );
  }
  const scope = options.scope ?? (family === 6 ? (bytes[1] ?? 0) & 0xf : LINK_LOCAL);
  if (!Number.isInteger(scope) || scope < 0 || scope > 15) {
    throw new RangeError(`scope is ${String(scope)}; expected an integer from 0 to 15`);
  }
  const mgid = new Uint8Array(16);
  mgid[0] = 0xff;
  mgid[1] = 0x10 | scope;
  mgid[2] = family === 4 ? 0x40 : 0x60;
  mgid[3] = 0x1b;
  // Full members and limited members of a partition share the link's groups, hence always bit 15.
  mgid[4] = (pkey >> 8) | 0x80;
  mgid[5] = pkey & 0xff;
  if (family === 4) {
    mgid.set(bytes, 12);
    mgid[12] = (bytes[0] ?? 0) & 0x0f;
  } else {
    mgid.set(bytes.subarray(6), 6);
  }
  return formatGid(mgid);
}

/** Whether the MGID has the signature of IPoIB, for IPv4 or for IPv6. */
export function isIpoibMgid(mgid: Uint8Array): boolean {
  return mgid[0] === 0xff && (mgid[2] === 0x40 || mgid[2] === 0x60) && mgid[3] === 0x1b;
}
