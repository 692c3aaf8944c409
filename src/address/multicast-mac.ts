import { parseGid } from './gid.js';

/**
 * The Ethernet address of a RoCE v2 multicast group, from its MGID: `01:00:5e` and 23 bits of an
 * IPv4 group (RFC 1112), `33:33` and 32 bits of any other (RFC 2464).
 */
export function multicastMac(mgid: string): string {
  const gid = parseGid(mgid);
  const mapped = gid.subarray(0, 12).every((byte, i) => byte === (i < 10 ? 0 : 0xff));
  const mac = mapped
    ? [0x01, 0x00, 0x5e, (gid[13] ?? 0) & 0x7f, ...gid.subarray(14)]
    : [0x33, 0x33, ...gid.subarray(12)];
  return mac.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}
