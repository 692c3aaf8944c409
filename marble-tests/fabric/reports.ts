// What it takes to hear reports on a simulated host, and to see from outside who gets them.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildPeer, PEER } from '../conformance/administrator.js';

const PRELOADED = fileURLToPath(
  new URL('../../native/test/build/peer/hears-reports.so', import.meta.url),
);

/** The environment of a process that hears reports, given that of its host; one on a host at a time. */
export function hearingReports(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  buildPeer(PRELOADED);
  return { ...env, LD_PRELOAD: `${PRELOADED} ${env.LD_PRELOAD ?? ''}` };
}

/** Set(InformInfo) that ends a subscription to a trap of the subnet administrator, as hexadecimal. */
function unsubscription(trap: number): string {
  const mad = new Uint8Array(256);
  const view = new DataView(mad.buffer);
  mad.set([1, 3, 2, 2]);
  view.setUint32(12, 0x1000 + trap);
  view.setUint16(16, 0x03);
  const data = 56;
  view.setUint16(data + 16, 0xffff); // every LID
  view.setUint8(data + 22, 1); // generic
  view.setUint16(data + 24, 0xffff); // every type
  view.setUint16(data + 26, trap);
  view.setUint32(data + 28, (1 << 8) | 18); // to QP1, to be answered within a second
  view.setUint32(data + 32, 4); // of class managers
  return Buffer.from(mad).toString('hex');
}

/**
 * Whether the subnet administrator has the subscriptions to groups created and deleted of the port that
 * `env` is the environment of. It has none of them afterwards. `buildPeer()` comes first.
 */
export async function subscriptionsOf(env: NodeJS.ProcessEnv): Promise<boolean[]> {
  const peer = spawn(PEER, ['umad'], { env, cwd: env.RXIB_FABRIC_DIRECTORY });
  for (const trap of [66, 67]) peer.stdin.write(`0 5000 ${unsubscription(trap)}\n`);
  peer.stdin.end();
  const had: boolean[] = [];
  for await (const line of createInterface({ input: peer.stdout })) {
    const status = /^[0-9a-f]{8}([0-9a-f]{4})/.exec(line)?.[1];
    if (status === '0000') had.push(true);
    else if (status === '0200') had.push(false);
    else if (status !== undefined) throw new Error(`unexpected answer: ${line}`);
  }
  return had;
}
