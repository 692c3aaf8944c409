import { InvalidArgumentError } from 'commander';
import { parseIpGroup } from '../address/ip-group.js';
import { canonicalMgid } from '../address/mgid.js';

/** What to join: an MGID as it is, or an IP group that the provider maps to one. */
export type GroupArgument = { readonly mgid: string } | { readonly group: string };

const FORMS =
  'Expected an MGID such as ff12:cafe::10 (:: to have one assigned), an IPv4 group such as 239.1.2.3, or ip: and an IPv6 group such as ip:ff02::1234.';

function why(error: unknown): string {
  // The form that the library expects is one of several here.
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/; expected .*$/s, '');
}

/**
 * Tells the three kinds of group apart: text with colons is an MGID, unless it begins with `ip:`;
 * other text is an IPv4 group.
 *
 * @throws InvalidArgumentError that says what is wrong and what is accepted.
 */
export function parseGroup(text: string): GroupArgument {
  try {
    if (text.startsWith('ip:')) return { group: parseIpGroup(text.slice('ip:'.length)).text };
    if (text.includes(':')) return { mgid: canonicalMgid(text) };
    return { group: parseIpGroup(text).text };
  } catch (error) {
    throw new InvalidArgumentError(`${why(error)}. ${FORMS}`);
  }
}
