import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How a program ended. One that hangs is killed and shows SIGKILL. */
export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
}

/** What every program starts with. */
const start = `
  import { embeddedFabric, joinMulticast$, rejoinOnReset } from 'rx-ib-multicast';
  const creation = { qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
`;

/** Runs a module with the compiled package in a process of its own. */
export function runProgram(
  body: string,
  limitMs = 15_000,
  {
    command = [process.execPath],
    onOutput = (_text: string, _kill: () => void): void => undefined,
  } = {},
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const [program = '', ...args] = command;
    const child = spawn(program, [...args, '--input-type=module', '-e', `${start}\n${body}`], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        onOutput(text, () => child.kill('SIGTERM'));
      });
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}
