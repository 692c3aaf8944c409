import { formatGid, parseGid } from '../address/gid.js';

const bytes = new Uint8Array(16);
const view = new DataView(bytes.buffer);

// A process talks about few ports and sees the same GIDs again and again.
let lastWords: readonly number[] = [0, 0, 0, 0];
let lastText = '::';

/** The text of a GID that stands as four 32-bit words at `at`. */
export function gidText(words: ArrayLike<number>, at = 0): string {
  for (let i = 0; i < 4; i += 1) view.setUint32(i * 4, words[at + i] ?? 0);
  return formatGid(bytes);
}

/** As `gidText`, remembering the last one: for the port's own GID, which hardly ever changes. */
export function portGidText(words: ArrayLike<number>, at: number): string {
  const same = lastWords.every((word, i) => word === words[at + i]);
  if (!same) {
    lastWords = Array.from({ length: 4 }, (_, i) => words[at + i] ?? 0);
    lastText = gidText(words, at);
  }
  return lastText;
}

/** Writes the text of a GID as four 32-bit words to `at`. */
export function writeGidWords(text: string, words: Float64Array, at: number): void {
  const gid = parseGid(text);
  const source = new DataView(gid.buffer, gid.byteOffset, gid.byteLength);
  for (let i = 0; i < 4; i += 1) words[at + i] = source.getUint32(i * 4);
}

/** The four 32-bit words of a GID's text. */
export function gidWordsOf(text: string): [number, number, number, number] {
  const words = new Float64Array(4);
  writeGidWords(text, words, 0);
  return [words[0] ?? 0, words[1] ?? 0, words[2] ?? 0, words[3] ?? 0];
}
