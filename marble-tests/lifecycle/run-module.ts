import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { patience } from './patience.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How a program ended, and all it said. */
export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
}

const start = `
  import { embeddedFabric, joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';
  const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
`;

/** Runs a module with the compiled package to its end; one that hangs is killed: SIGKILL. */
export function runModule(body: string, limitMs = 15_000): Promise<End> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', `${start}\n${body}`],
      { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs * patience);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}
