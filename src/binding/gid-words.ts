import { gidOfWords, writeGidWords } from '../address/gid.js';

// A process talks about few ports and sees the same GIDs again and again.
const last = [0, 0, 0, 0];
let lastText = '::';

/** The text of the GID at `at`, remembering it: for the port's own, which hardly ever changes. */
export function portGidText(words: ArrayLike<number>, at: number): string {
  if (
    words[at] !== last[0] ||
    words[at + 1] !== last[1] ||
    words[at + 2] !== last[2] ||
    words[at + 3] !== last[3]
  ) {
    for (let i = 0; i < 4; i += 1) last[i] = words[at + i] ?? 0;
    lastText = gidOfWords(last);
  }
  return lastText;
}

/** The four 32-bit words of a GID's text. */
export function gidWordsOf(text: string): [number, number, number, number] {
  const words = new Float64Array(4);
  writeGidWords(text, words, 0);
  return [words[0] ?? 0, words[1] ?? 0, words[2] ?? 0, words[3] ?? 0];
}
