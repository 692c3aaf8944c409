import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median, spread } from './statistics.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ROUNDS = 15;

function node(...args) {
  return execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
}

/** Import beyond that of rxjs, the command line's --help, and the size of the package. */
export function measureStartup() {
  const script = `
    const start = performance.now();
    await import('rxjs');
    const rxjs = performance.now();
    await import('./dist/index.js');
    console.log(JSON.stringify({ rxjs: rxjs - start, own: performance.now() - rxjs }));`;
  const imports = [];
  const helps = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    imports.push(JSON.parse(node('--input-type=module', '-e', script)));
    const start = performance.now();
    node('dist/cli/main.js', '--help');
    helps.push(performance.now() - start);
  }
  const own = imports.map((one) => one.own);
  const [pack] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
    }),
  );
  const binary = pack.files
    .filter(({ path }) => path.startsWith('prebuilds/'))
    .reduce((sum, { size }) => sum + size, 0);
  return {
    importMs: median(own),
    spread: spread(own),
    rxjsImportMs: median(imports.map((one) => one.rxjs)),
    cliHelpMs: median(helps),
    packedBytes: pack.size,
    unpackedBytes: pack.unpackedSize,
    withoutBinaryBytes: pack.unpackedSize - binary,
  };
}
