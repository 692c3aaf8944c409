// The compiled TypeScript of this checkout.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { digestOf, root, run, unlessCurrent } from './run.mjs';

/** Nobody reads the declarations of what only this package itself imports. */
function bareDeclarations(folder) {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.d.ts')) continue;
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, ''));
  }
}

/** Compiles src/ to dist/, unless dist/ is made of exactly these sources. */
export function ensurePackage() {
  const digest = digestOf([
    'src',
    'tsconfig.json',
    'package-lock.json',
    'scripts/setup/package.mjs',
  ]);
  unlessCurrent('dist/.sources', digest, 'dist/index.js', () => {
    // Compiled elsewhere and moved into place, so that what runs meanwhile finds all of dist/.
    const made = join(root, 'build', `dist-${process.pid}`);
    const old = join(root, 'build', `dist-old-${process.pid}`);
    const dist = join(root, 'dist');
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    mkdirSync(made, { recursive: true });
    run(process.execPath, [tsc, '-p', '.', '--outDir', made], 'compiling the package');
    // What the comments say to users stands in the declarations; the programs are a fifth smaller without.
    const bare = ['--declaration', 'false', '--removeComments', '--noCheck'];
    run(process.execPath, [tsc, '-p', '.', '--outDir', made, ...bare], 'taking comments out');
    for (const room of ['binding', 'cli']) bareDeclarations(join(made, room));
    chmodSync(join(made, 'cli', 'main.js'), 0o755);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(made, dist);
    rmSync(old, { recursive: true, force: true });
  });
}
