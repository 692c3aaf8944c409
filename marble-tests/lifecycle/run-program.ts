import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How a program ended, and all it said. */
export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
}

// What every program starts with: a fabric, three groups joined, and `joined` once they are.
const start = `
  import { embeddedFabric, joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';
  const fabric = embeddedFabric({ delayMs: 1 });
  const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
  const joins = (of) => of.map((n) =>
    joinMulticast$({ provider: fabric, record: { mgid: 'ff12::' + n, ...creation } }));
  const report = () => console.log(JSON.stringify({
    members: fabric.members().length,
    made: fabric.stats().joinsStarted,
    freed: fabric.stats().handlesFreed,
  }));
`;

/** Runs a program to its end; one that hangs is killed and shows SIGKILL. */
export function runProgram(body: string, limitMs = 15_000): Promise<End> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', `${start}\n${body}`],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}
