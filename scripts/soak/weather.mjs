// Runs one soak in a child and answers what it asks: the embedded one nothing, the one on a real
// OpenSM its faults.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startFabric } from '../fabric/simulator.mjs';
// Nothing here may import the package: it is compiled only after these modules have been loaded.
import { randomFrom } from './random.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Runs the program to its end; gives its report, or throws with its output. */
async function finish(child) {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const code = await new Promise((resolve) =>
    child.once('close', (status, signal) => resolve(signal ?? status)),
  );
  if (code !== 0) throw new Error(`the soak ended with ${code}\n${output}`);
  return JSON.parse(/^\{.*\}$/m.exec(output)[0]);
}

export function soakEmbedded(seconds, seed) {
  return finish(
    fork(path('embedded.mjs'), [String(seconds), String(seed)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    }),
  );
}

export async function soakOpensm(seconds, seed) {
  const random = randomFrom(seed + 1);
  const fabric = await startFabric({ hosts: 3 });
  try {
    const child = fork(path('umad.mjs'), [String(seconds), String(seed)], {
      execArgv: ['--expose-gc'],
      env: fabric.env('Hca2'),
      cwd: fabric.directory,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const lid = () => 80 + Math.floor(random() * 100);
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const faults = [
      () => fabric.opensm.restart(),
      async () => {
        await fabric.console('Unlink "Hca2"[1]');
        await pause(random() * 2000);
        await fabric.console('ReLink "Hca2"[1]');
        fabric.opensm.sweep();
      },
      async () => {
        fabric.opensm.pause();
        await pause(random() * 2500);
        fabric.opensm.resume();
      },
      async () => {
        await fabric.console(`Baselid "Hca2"[1] ${lid()}`);
        fabric.opensm.sweep();
      },
    ];
    let happening = Promise.resolve();
    let busy = false;
    let happened = 0;
    let failure;
    // Without an answer the child would go on for ever, also when this process has ended.
    const fail = (error) => {
      failure ??= error;
      child.kill('SIGKILL');
    };
    const answers = {
      fault: () => {
        if (busy) return;
        busy = true;
        happened += 1;
        happening = faults[Math.floor(random() * faults.length)]()
          .catch(fail)
          .finally(() => (busy = false));
      },
      calm: () => happening,
      groups: async () => (await fabric.groups()).filter(({ wellKnown }) => !wellKnown).length,
    };
    child.on('message', async ({ what, serial }) => {
      try {
        const value = await answers[what]();
        if (child.connected) child.send({ serial, value });
      } catch (error) {
        fail(error);
      }
    });
    const report = await finish(child).catch((error) => {
      throw failure ?? error;
    });
    if (report.membersLeft !== 0) {
      throw new Error(`OpenSM still has ${report.membersLeft} groups after the soak`);
    }
    return { ...report, faults: happened };
  } finally {
    await fabric.stop();
  }
}
