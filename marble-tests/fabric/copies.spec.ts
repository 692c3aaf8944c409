import { spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { withFabric } from './fabric-test.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ADDON = 'build/Release/rx_ib_multicast.node';

/** The URL of a second installation of the package, with the same addon file or one of its own. */
function secondCopy(folder: string, addon: 'same' | 'own'): string {
  mkdirSync(join(folder, 'build/Release'), { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  if (addon === 'same') symlinkSync(join(root, ADDON), join(folder, ADDON));
  else copyFileSync(join(root, ADDON), join(folder, ADDON));
  return pathToFileURL(join(folder, 'dist/index.js')).href;
}

describe('two copies of the package in one process', () => {
  const at = withFabric({ hosts: 3 });
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  /** The first copy joins a group, then the second; gives what the second was told, and counters. */
  async function together(addon: 'same' | 'own'): Promise<Record<string, unknown>> {
    const folder = mkdtempSync(join(tmpdir(), 'rx-ib-multicast-copy-'));
    folders.push(folder);
    const first = pathToFileURL(join(root, 'dist/index.js')).href;
    const program = `
      import * as first from ${JSON.stringify(first)};
      import * as second from ${JSON.stringify(secondCopy(folder, addon))};
      const record = { mgid: 'ff12:c091::1', qkey: 1, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
      const join = (copy) => {
        const provider = copy.umad();
        let subscription;
        const told = new Promise((resolve) => {
          subscription = copy.joinMulticast$({ provider, record }).subscribe({ next: resolve, error: () => undefined });
        });
        return { provider, told, leave: () => subscription.unsubscribe() };
      };
      const one = join(first);
      await one.told;
      const two = join(second);
      const { type, error } = await two.told;
      const { joinsSent } = one.provider.stats();
      two.leave();
      await one.provider.idle();
      const { leavesSent, handlesAlive } = one.provider.stats();
      one.leave();
      await one.provider.idle();
      console.log(JSON.stringify({ type, code: error?.code, joinsSent, leavesSent, handlesAlive }));
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      env: at.fabric.env('Hca2'),
      cwd: at.fabric.directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, output }).toMatchObject({ code: 0 });
    return JSON.parse(/^\{.*\}$/m.exec(output)?.[0] ?? '{}') as Record<string, unknown>;
  }

  it('share the port when they load the same addon file', async () => {
    // The second join was answered by the first one's membership, and its leave sent nothing.
    expect(await together('same')).toEqual({
      type: 'joined',
      joinsSent: 1,
      leavesSent: 0,
      handlesAlive: 1,
    });
    expect(await at.groups()).toEqual([]);
  });

  it('do not share it with an addon file of their own: the second is refused, EBUSY', async () => {
    expect(await together('own')).toMatchObject({ type: 'error', code: 'EBUSY', handlesAlive: 1 });
    expect(await at.groups()).toEqual([]);
  });
});
