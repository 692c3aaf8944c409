import { formatGid, isMulticastGid, parseGid } from './gid.js';

/** An IP multicast address. */
export interface IpGroup {
  readonly family: 4 | 6;
  /** 4 or 16 bytes in network order. */
  readonly bytes: Uint8Array;
  /** Canonical text: dotted for IPv4, RFC 5952 for IPv6. */
  readonly text: string;
}

/** An IP group as a GID, which is its MGID on RoCE v2: `::ffff:a.b.c.d` for an IPv4 group. */
export function ipGroupGid(text: string): string {
  const { family, bytes } = parseIpGroup(text);
  if (family === 6) return formatGid(bytes);
  const gid = new Uint8Array(16);
  gid.fill(0xff, 10, 12);
  gid.set(bytes, 12);
  return formatGid(gid);
}

const FORM = "an IPv4 or IPv6 multicast address, for example '239.1.2.3' or 'ff05::1234'";

/**
 * Reads an IPv4 or IPv6 multicast address.
 *
 * @throws TypeError for text that is no IP address, RangeError for one that is no multicast address
 * (IPv4: 224.0.0.0/4, IPv6: ff00::/8).
 */
export function parseIpGroup(text: string): IpGroup {
  if (typeof text !== 'string') {
    throw new TypeError(`a group is text, not ${typeof text}; expected ${FORM}`);
  }
  if (text.includes(':')) {
    let bytes: Uint8Array;
    try {
      bytes = parseGid(text);
    } catch (cause) {
      throw new TypeError(`'${text}' is no IPv6 address; expected ${FORM}`, { cause });
    }
    if (!isMulticastGid(bytes)) {
      throw new RangeError(`'${text}' is no IPv6 multicast address; expected one within ff00::/8`);
    }
    return { family: 6, bytes, text: formatGid(bytes) };
  }
  const octets = text.split('.');
  if (
    octets.length !== 4 ||
    !octets.every((octet) => /^(0|[1-9][0-9]{0,2})$/.test(octet) && Number(octet) <= 255)
  ) {
    throw new TypeError(`'${text}' is no IP address; expected ${FORM}`);
  }
  const bytes = Uint8Array.from(octets, Number);
  if ((bytes[0] ?? 0) >> 4 !== 0xe) {
    throw new RangeError(
      `'${text}' is no IPv4 multicast address; expected 224.0.0.0 to 239.255.255.255`,
    );
  }
  return { family: 4, bytes, text: octets.join('.') };
}
