import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** Runs a measurement of this folder in a process of its own and reads its line of JSON. */
export function runChild(file, ...args) {
  return runChildWith([], file, ...args);
}

/** The same, with flags for node. */
export async function runChildWith(flags, file, ...args) {
  const script = new URL(file, import.meta.url).pathname;
  const { stdout } = await execFileAsync(
    process.execPath,
    ['--expose-gc', ...flags, script, ...args.map(String)],
    { maxBuffer: 2 ** 26 },
  );
  return JSON.parse(stdout);
}
