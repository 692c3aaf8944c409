// Commands of the set-up: quiet while they work, all their output when they fail.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Runs a command in the project's folder; ends the process with its output when it fails. */
export function run(command, args, what, options = {}) {
  process.stderr.write(`${what} ...\n`);
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  if (result.status === 0) return result.stdout;
  const why = result.error === undefined ? '' : `${result.error.message}\n`;
  process.stderr.write(`${causeLast(result.stdout ?? '', result.stderr ?? '')}${why}`);
  process.stderr.write(`${what} failed: ${command} ${args.join(' ')}\n`);
  process.exit(1);
}

/** All output but the chatter of node-gyp, whose own summary comes before what the compiler said. */
function causeLast(stdout, stderr) {
  const lines = stderr.split('\n').filter((line) => !line.startsWith('gyp info'));
  const summary = lines.filter((line) => line.startsWith('gyp ERR!'));
  const others = lines.filter((line) => !line.startsWith('gyp ERR!'));
  return [...summary, stdout, others.join('\n')].join('\n');
}

/** The files below a folder; a file is itself. */
export function* filesBelow(path) {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const full = join(path, entry.name);
    if (entry.isDirectory()) yield* filesBelow(full);
    else yield full;
  }
}

/** A digest of the names and contents of files and folders, and of further words. */
export function digestOf(paths, ...words) {
  const hash = createHash('sha256');
  for (const word of words) hash.update(`${word}\0`);
  for (const path of paths.map((name) => join(root, name))) {
    const files = existsSync(path) ? [...filesBelow(path)] : [path];
    for (const file of files.sort()) {
      hash.update(`${relative(root, file)}\0`);
      if (existsSync(file)) hash.update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

/** Runs `build` unless `stamp` says that it has been run for this digest and `result` is there. */
export function unlessCurrent(stamp, digest, result, build) {
  const path = join(root, stamp);
  if (existsSync(join(root, result)) && existsSync(path) && readFileSync(path, 'utf8') === digest) {
    return;
  }
  build();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, digest);
}
