// The JavaScript of the documentation: each `js` block is a program, or a named file of its page.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

const BLOCK = /^```js\n([\s\S]*?)^```$/gm;
const FILE_NAME = /^\/\/ (\S+\.js)\n/;

function* pages(folder = 'docs') {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* pages(path);
    else if (entry.name.endsWith('.md')) yield path;
  }
}

/**
 * The pages of docs/ that have JavaScript. A block whose first line is a comment with a file name is
 * that file; the others are programs that run to their end by themselves.
 */
export function documentation() {
  return [...pages()]
    .sort()
    .map((page) => {
      const files = [];
      for (const [, text] of readFileSync(join(root, page), 'utf8').matchAll(BLOCK)) {
        const name = FILE_NAME.exec(text)?.[1] ?? `program-${files.length + 1}.js`;
        files.push({ name, text });
      }
      return { page, files };
    })
    .filter(({ files }) => files.length > 0);
}
