import { canonicalGid } from './gid.js';

/** The MGID that asks the subnet administrator to assign one. */
export const UNASSIGNED_MGID = '::';

/**
 * The canonical text of an MGID: a multicast GID in any usual IPv6 spelling, or `'::'` to ask the
 * subnet administrator for one.
 *
 * @throws TypeError for text that is no GID, RangeError for a GID that is no multicast GID.
 */
export function canonicalMgid(text: string): string {
  if (typeof text === 'string' && /^\d+(\.\d+){3}$/.test(text)) {
    throw new TypeError(
      `'${text}' is an IP address and no MGID; for an IP address use 'group' in place of record.mgid`,
    );
  }
  const canonical = canonicalGid(text);
  if (canonical !== UNASSIGNED_MGID && !/^ff[0-9a-f]{2}:/.test(canonical)) {
    throw new RangeError(
      `'${text}' is no multicast GID; expected one within ff00::/8, or '::' to have one assigned`,
    );
  }
  return canonical;
}
