import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** Runs a measurement of this folder in a process of its own and reads its line of JSON. */
export async function runChild(file, ...args) {
  const script = new URL(file, import.meta.url).pathname;
  const { stdout } = await execFileAsync(
    process.execPath,
    ['--expose-gc', script, ...args.map(String)],
    { maxBuffer: 2 ** 26 },
  );
  return JSON.parse(stdout);
}
