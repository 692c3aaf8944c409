// The compiled TypeScript of this checkout.

import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, root, run, unlessCurrent } from './run.mjs';

/** Compiles src/ to dist/, unless dist/ is made of exactly these sources. */
export function ensurePackage() {
  const digest = digestOf(['src', 'tsconfig.json', 'package-lock.json']);
  unlessCurrent('dist/.sources', digest, 'dist/index.js', () => {
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    run(process.execPath, [tsc, '-p', '.'], 'compiling the package');
    chmodSync(join(root, 'dist', 'cli', 'main.js'), 0o755);
  });
}
