// The index of the API against the exports there are, and the links of the documents against the files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The names in the export lists of a file that only re-exports. */
function exportsOf(path: string): string[] {
  return [...read(path).matchAll(/export (?:type )?\{([^}]*)\}/g)]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function* pages(folder = 'docs'): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* pages(path);
    else if (entry.name.endsWith('.md')) yield path;
  }
}

describe('docs/api.md', () => {
  const [main = '', testing = ''] = read('docs/api.md').split('## rx-ib-multicast/testing');

  it.each([
    ['src/index.ts', main],
    ['src/testing/index.ts', testing],
  ])('names every export of %s', (path, section) => {
    const names = exportsOf(path);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
  });

  it('names nothing that is not exported', () => {
    const known = [...exportsOf('src/index.ts'), ...exportsOf('src/testing/index.ts')];
    const rows = read('docs/api.md').matchAll(/^\| (`[^|]*`) +\|/gm);
    const named = [...rows].flatMap(([, cell = '']) => cell.match(/[\w$]+/g) ?? []);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

/** The anchors of a page, as GitHub makes them of headings. */
function anchors(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
}

it.each(['README.md', 'CHANGELOG.md', ...pages()])('the links of %s lead somewhere', (page) => {
  const dead: string[] = [];
  for (const [, target = ''] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? page : join(dirname(page), file);
    const found = existsSync(join(root, path));
    if (!found || (anchor !== undefined && !anchors(path).includes(anchor))) dead.push(target);
  }
  expect(dead).toEqual([]);
});
