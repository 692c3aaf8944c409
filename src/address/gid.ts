const FORM = "an IPv6 address, for example 'ff12:401b:ffff::1' or '::'";

function malformed(text: string, why: string): TypeError {
  return new TypeError(`'${text}' is no GID: ${why}; expected ${FORM}`);
}

/** The four bytes of a dotted tail as two groups of 16 bits. */
function dottedGroups(text: string, tail: string): number[] {
  const octets = tail.split('.');
  if (octets.length !== 4) throw malformed(text, `'${tail}' has not four decimal numbers`);
  const [a = 0, b = 0, c = 0, d = 0] = octets.map((octet) => {
    // Leading zeros are refused because some readers take them for octal numbers.
    if (!/^(0|[1-9][0-9]{0,2})$/.test(octet) || Number(octet) > 255) {
      throw malformed(text, `'${octet}' in '${tail}' is no decimal number from 0 to 255`);
    }
    return Number(octet);
  });
  return [a * 256 + b, c * 256 + d];
}

function groupsOf(text: string, part: string, mayEndDotted: boolean): number[] {
  if (part === '') return [];
  const words = part.split(':');
  return words.flatMap((word, index) => {
    if (mayEndDotted && index === words.length - 1 && word.includes('.')) {
      return dottedGroups(text, word);
    }
    if (!/^[0-9a-fA-F]{1,4}$/.test(word)) {
      throw malformed(
        text,
        word === ''
          ? 'it has an empty group'
          : `'${word}' is no group of one to four hexadecimal digits`,
      );
    }
    return [parseInt(word, 16)];
  });
}

/**
 * Reads a GID in any usual IPv6 spelling: upper or lower case, leading zeros, `::`, a dotted tail.
 *
 * @returns 16 bytes in network order.
 * @throws TypeError that says what is wrong with the text.
 */
export function parseGid(text: string): Uint8Array {
  if (typeof text !== 'string') {
    throw new TypeError(`a GID is text, not ${typeof text}; expected ${FORM}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) throw malformed(text, "'::' may stand only once");
  const [left = '', right] = halves;
  const head = groupsOf(text, left, right === undefined);
  const tail = right === undefined ? [] : groupsOf(text, right, true);
  const count = head.length + tail.length;
  if (right === undefined ? count !== 8 : count > 7) {
    throw malformed(
      text,
      right === undefined
        ? `it has ${String(count)} groups of 16 bits instead of 8`
        : `'::' must stand for at least one group, and there are ${String(count)} beside it`,
    );
  }
  const bytes = new Uint8Array(16);
  const put = (groups: readonly number[], at: number): void => {
    groups.forEach((group, index) => {
      bytes[(at + index) * 2] = group >> 8;
      bytes[(at + index) * 2 + 1] = group & 0xff;
    });
  };
  put(head, 0);
  put(tail, 8 - tail.length);
  return bytes;
}

/**
 * Writes 16 bytes as canonical GID text: RFC 5952, lower case, never dotted.
 *
 * @throws RangeError when there are not 16 bytes.
 */
export function formatGid(bytes: Uint8Array): string {
  if (bytes.length !== 16) {
    throw new RangeError(`a GID has 16 bytes, not ${String(bytes.length)}`);
  }
  const groups = Array.from(
    { length: 8 },
    (_, index) => (bytes[index * 2] ?? 0) * 256 + (bytes[index * 2 + 1] ?? 0),
  );
  // The first of the longest runs of two or more zero groups becomes '::'.
  let start = -1;
  let length = 1;
  for (let from = 0; from < 8; from += 1) {
    let to = from;
    while (to < 8 && groups[to] === 0) to += 1;
    if (to - from > length) {
      start = from;
      length = to - from;
    }
  }
  const text = (part: readonly number[]): string =>
    part.map((group) => group.toString(16)).join(':');
  if (start < 0) return text(groups);
  return `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

/**
 * The canonical text of a GID in any usual spelling.
 *
 * @throws TypeError as `parseGid` does.
 */
export function canonicalGid(text: string): string {
  return formatGid(parseGid(text));
}

/** Whether the GID is a multicast GID, that is, within ff00::/8. */
export function isMulticastGid(gid: Uint8Array): boolean {
  return gid[0] === 0xff;
}
