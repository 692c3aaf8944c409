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

/** Eight groups of 16 bits. */
type Groups = readonly number[];

// Each join reads its MGID twice, so that the common spellings are read in one pass and into one list.
const scanned = [0, 0, 0, 0, 0, 0, 0, 0];

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/**
 * Reads colons and hexadecimal digits into `scanned`. False for everything else, also for text that
 * is no GID: `readGroups` then reads it again and says what is wrong.
 */
function scan(text: string): boolean {
  let count = 0;
  let gap = -1;
  let at = 0;
  if (text.startsWith('::')) {
    gap = 0;
    at = 2;
  }
  while (at < text.length) {
    let value = 0;
    let digits = 0;
    for (; at < text.length && digits < 5; at += 1, digits += 1) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) break;
      value = value * 16 + digit;
    }
    if (digits === 0 || digits > 4 || count === 8) return false;
    scanned[count] = value;
    count += 1;
    if (at === text.length) break;
    if (text[at] !== ':') return false;
    at += 1;
    if (text[at] === ':') {
      if (gap >= 0) return false;
      gap = count;
      at += 1;
    } else if (at === text.length) {
      return false;
    }
  }
  if (gap < 0) return count === 8;
  if (count > 7) return false;
  // By hand: for so few numbers the array's own methods take longer than all the rest.
  const zeros = 8 - count;
  for (let to = 7; to >= gap + zeros; to -= 1) scanned[to] = scanned[to - zeros] ?? 0;
  for (let to = gap; to < gap + zeros; to += 1) scanned[to] = 0;
  return true;
}

/**
 * The groups of a GID's text. The list is good until the next call.
 *
 * @throws TypeError as `parseGid` does.
 */
function groupsIn(text: string): Groups {
  if (typeof text !== 'string') {
    throw new TypeError(`a GID is text, not ${typeof text}; expected ${FORM}`);
  }
  return scan(text) ? scanned : readGroups(text);
}

function readGroups(text: string): Groups {
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
  return [...head, ...Array<number>(8 - count).fill(0), ...tail];
}

function formatGroups(groups: Groups): string {
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
  let text = '';
  for (let index = 0; index < 8; index += 1) {
    if (index === start) {
      text += '::';
      index += length - 1;
      continue;
    }
    if (index > 0 && index !== start + length) text += ':';
    text += (groups[index] ?? 0).toString(16);
  }
  return text;
}

/**
 * Reads a GID in any usual IPv6 spelling: upper or lower case, leading zeros, `::`, a dotted tail.
 *
 * @returns 16 bytes in network order.
 * @throws TypeError that says what is wrong with the text.
 */
export function parseGid(text: string): Uint8Array {
  const groups = groupsIn(text);
  const bytes = new Uint8Array(16);
  for (let index = 0; index < 8; index += 1) {
    const group = groups[index] ?? 0;
    bytes[index * 2] = group >> 8;
    bytes[index * 2 + 1] = group & 0xff;
  }
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
  return formatGroups(
    Array.from(
      { length: 8 },
      (_, index) => (bytes[index * 2] ?? 0) * 256 + (bytes[index * 2 + 1] ?? 0),
    ),
  );
}

/**
 * The canonical text of a GID in any usual spelling.
 *
 * @throws TypeError as `parseGid` does.
 */
export function canonicalGid(text: string): string {
  const canonical = formatGroups(groupsIn(text));
  // A text that is canonical already is kept alive by the caller anyhow: one copy is enough.
  return canonical === text ? text : canonical;
}

const compared = [0, 0, 0, 0, 0, 0, 0, 0];

/** Whether both are spellings of one GID. False for text that is no GID, and for dotted ones. */
export function isSameGid(text: unknown, other: unknown): boolean {
  if (text === other) return true;
  if (typeof text !== 'string' || typeof other !== 'string' || !scan(other)) return false;
  for (let index = 0; index < 8; index += 1) compared[index] = scanned[index] ?? 0;
  return scan(text) && compared.every((group, index) => group === scanned[index]);
}

/** Writes the four 32-bit words of a GID's text to `at`. */
export function writeGidWords(text: string, words: Float64Array, at: number): void {
  const groups = groupsIn(text);
  for (let word = 0; word < 4; word += 1) {
    words[at + word] = (groups[word * 2] ?? 0) * 0x10000 + (groups[word * 2 + 1] ?? 0);
  }
}

const unpacked = [0, 0, 0, 0, 0, 0, 0, 0];

/** The text of a GID that stands as four 32-bit words at `at`. */
export function gidOfWords(words: ArrayLike<number>, at = 0): string {
  for (let index = 0; index < 4; index += 1) {
    const word = words[at + index] ?? 0;
    unpacked[2 * index] = word >>> 16;
    unpacked[2 * index + 1] = word & 0xffff;
  }
  return formatGroups(unpacked);
}

/** Whether the GID is a multicast GID, that is, within ff00::/8. */
export function isMulticastGid(gid: Uint8Array): boolean {
  return gid[0] === 0xff;
}
