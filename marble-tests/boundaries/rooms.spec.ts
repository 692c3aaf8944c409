import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Reference {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly line: string;
}

function filesUnder(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(root, folder, name));
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/** The folder below `top` that a file is in; `'.'` for files of `top` itself. */
function roomOf(top: string, file: string): string {
  const [room = '.', ...rest] = relative(join(root, top), file).split(sep);
  return rest.length === 0 ? '.' : room;
}

function importsOf(file: string): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;
  return [...read(file).matchAll(pattern)].map(([, first, second]) => first ?? second ?? '');
}

const sources = filesUnder('src', /\.ts$/);

const typeScriptReferences: Reference[] = sources.flatMap((file) =>
  importsOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => ({
      file: relative(root, file),
      from: roomOf('src', file),
      to: roomOf('src', resolve(dirname(file), specifier)),
      line: specifier,
    })),
);

const LEAVES = ['contract', 'records', 'address', 'errors'];

/** Which rooms a room may use, beside itself. Data flows from the left to the right of this list. */
const TYPESCRIPT_ROOMS: Readonly<Record<string, readonly string[]>> = {
  // The leaves. Types of `records` and `errors` make up the contract; `records` are made of addresses, and
  // say in the words of `errors` what is wrong with them.
  errors: [],
  address: [],
  records: ['address', 'errors'],
  contract: ['records', 'errors'],
  // binding -> codec, providers -> observable -> operators -> cli
  binding: LEAVES,
  codec: ['binding', ...LEAVES],
  providers: ['binding', 'codec', ...LEAVES],
  observable: ['binding', 'codec', 'providers', ...LEAVES],
  operators: ['binding', 'codec', 'providers', 'observable', ...LEAVES],
  cli: ['binding', 'codec', 'providers', 'observable', 'operators', ...LEAVES],
  // The marble kit runs where the addon can't.
  testing: LEAVES,
};

/** The C++ rooms, in the same way. */
const NATIVE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  codec: [],
  core: ['codec'],
  rdma: ['codec', 'core'],
  sa: ['codec', 'core'],
  umad: ['codec', 'core', 'rdma'],
  rdmacm: ['codec', 'core', 'rdma'],
  embedded: ['codec', 'core'],
  addon: ['codec', 'core', 'rdma', 'sa', 'umad', 'rdmacm', 'embedded'],
};

function violations(
  references: readonly Reference[],
  rooms: Readonly<Record<string, readonly string[]>>,
): string[] {
  return references
    .filter(({ from, to }) => from !== to && rooms[from]?.includes(to) !== true)
    .map(({ file, from, to, line }) => `${file}: ${from} uses ${to} (${line})`);
}

describe('TypeScript rooms', () => {
  it('finds imports', () => {
    expect(typeScriptReferences.length).toBeGreaterThan(50);
  });

  it('has a rule for every room', () => {
    const rooms = new Set(sources.map((file) => roomOf('src', file)));
    rooms.delete('.');
    expect([...rooms].filter((room) => !(room in TYPESCRIPT_ROOMS))).toEqual([]);
  });

  it('uses only rooms to the left', () => {
    // index.ts re-exports from everywhere.
    const inRooms = typeScriptReferences.filter(({ from }) => from !== '.');
    expect(violations(inRooms, TYPESCRIPT_ROOMS)).toEqual([]);
  });

  it('re-exports by name in the public entries, and nothing else', () => {
    for (const entry of ['src/index.ts', 'src/testing/index.ts']) {
      const rest = read(join(root, entry)).replace(/export (?:type )?\{[^}]*\} from '[^']+';/g, '');
      expect(rest.trim()).toBe('');
    }
  });

  it('keeps the contract free of code', () => {
    for (const file of filesUnder('src/contract', /\.ts$/)) {
      const text = read(file);
      expect(text).not.toMatch(/^import (?!type )/m);
      expect(text).not.toMatch(/^export (?!type |interface |declare )/m);
    }
  });

  it('touches the addon in one room only', () => {
    const others = sources.filter((file) => roomOf('src', file) !== 'binding');
    expect(others.filter((file) => /node-gyp-build|\.node['"`]/.test(read(file)))).toEqual([]);
  });

  it('lets the marble kit depend on rxjs and node only', () => {
    const packages = filesUnder('src/testing', /\.ts$/)
      .flatMap(importsOf)
      .filter((specifier) => !specifier.startsWith('.'));
    for (const name of packages) expect(name).toMatch(/^(rxjs(\/testing)?|node:.*)$/);
  });

  it('loads no .node file when the package is imported', async () => {
    await import('../../src/index.js');
    await import('../../src/testing/index.js');
    const report = process.report.getReport() as unknown as { sharedObjects: string[] };
    expect(report.sharedObjects.filter((name) => name.includes('rx_ib_multicast'))).toEqual([]);
  });
});

describe('C++ rooms', () => {
  const rooms = Object.keys(NATIVE_ROOMS);
  const references: Reference[] = filesUnder('native', /\.(cc|h)$/)
    .filter((file) => rooms.includes(roomOf('native', file)))
    .flatMap((file) =>
      [...read(file).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map(([line, path = '']) => ({
        file: relative(root, file),
        from: roomOf('native', file),
        to: path.includes('/') ? (path.split('/')[0] ?? '') : roomOf('native', file),
        line: line.trim(),
      })),
    );

  it('finds includes', () => {
    expect(references.length).toBeGreaterThan(20);
  });

  it('uses only rooms below', () => {
    expect(violations(references, NATIVE_ROOMS)).toEqual([]);
  });

  it('knows Node-API in the addon only', () => {
    const napi = filesUnder('native', /\.(cc|h)$/)
      .filter((file) => rooms.includes(roomOf('native', file)))
      .filter((file) => /#\s*include\s+[<"](?:napi|node_api|uv|v8)\b/.test(read(file)));
    expect(napi.filter((file) => roomOf('native', file) !== 'addon')).toEqual([]);
  });

  it('knows the headers of rdma-core nowhere: they are declared by hand', () => {
    const rdma = filesUnder('native', /\.(cc|h)$/)
      .filter((file) => rooms.includes(roomOf('native', file)))
      .filter((file) => /#\s*include\s+<(?:infiniband|rdma)\//.test(read(file)));
    expect(rdma.map((file) => relative(root, file))).toEqual([]);
  });
});
