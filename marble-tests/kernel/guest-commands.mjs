// Commands of the guest, and programs of this package as processes of their own.

import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The guest's ip, not busybox's. */
export const ip = (...args) => run('/opt/bin/ip', args);
export const rdma = (...args) => run('/opt/bin/rdma', args);

/** A Soft-RoCE device on a link of its own, with the far end as well. */
export async function addDevice(device, link, address) {
  await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', `${link}p`);
  if (address !== undefined) await ip('addr', 'add', `${address}/24`, 'dev', link);
  await ip('link', 'set', link, 'up');
  await ip('link', 'set', `${link}p`, 'up');
  await rdma('link', 'add', device, 'type', 'rxe', 'netdev', link);
}

/** A Soft-RoCE device on a bond of two links, of which one is active. */
export async function addBond(device, bond, address) {
  await ip(
    ...['link', 'add', bond, 'type', 'bond', 'mode', 'active-backup'],
    ...['fail_over_mac', 'active', 'miimon', '100'],
  );
  for (const link of [`${bond}a`, `${bond}b`]) {
    await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', `${link}p`);
    await ip('link', 'set', link, 'master', bond);
    await ip('link', 'set', `${link}p`, 'up');
  }
  await ip('link', 'set', bond, 'up');
  await ip('addr', 'add', `${address}/24`, 'dev', bond);
  await rdma('link', 'add', device, 'type', 'rxe', 'netdev', bond);
}

/** The bond goes over to its second link, and with it to another hardware address. */
export function failOver(bond) {
  return ip('link', 'set', bond, 'type', 'bond', 'active_slave', `${bond}b`);
}

export function removeDevice(device) {
  return rdma('link', 'delete', device);
}

/** Sends ten datagrams to the group, about three seconds from now. */
export function sendToGroup(group, source) {
  return run('/opt/bin/mckey', ['-m', group, '-b', source, '-s', '-C', '10']);
}

/** A queue pair attached to the MGID; `attached` and `received` resolve in turn. */
export function receiver(device, mgid, qkey, { messages = 1, limitMs = 15_000 } = {}) {
  const child = spawn(
    '/opt/bin/multicast-receiver',
    [device, mgid, String(qkey), String(messages), String(limitMs)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: child.stdout });
  const line = (prefix) =>
    new Promise((resolve, reject) => {
      lines.on('line', (text) => {
        if (text.startsWith(prefix)) resolve(text);
      });
      child.once('close', (code) => reject(new Error(`the receiver ended with ${code}`)));
    });
  const attached = line('attached');
  const received = line('received').then((text) => Number(text.split(' ')[1]));
  received.catch(() => undefined);
  return { attached, received };
}

/** The package's program; `line` is the first that it prints, `ended` its exit code. */
export function commandLine(...args) {
  const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const line = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    void ended.then((code) => reject(new Error(`it ended with ${code} and said nothing`)));
  });
  return { child, line, ended };
}

/** Runs member.mjs with a job; resolves with its exit and what it printed. */
export function member(job, { uid } = {}) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('member.mjs', import.meta.url)), JSON.stringify(job)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(uid === undefined ? {} : { uid, gid: uid }),
    },
  );
  const lines = [];
  const waiting = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text));
    for (const look of waiting) look();
  });
  const ended = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, lines }));
  });
  const first = (type) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.find((line) => line.type === type);
        if (found !== undefined) resolve(found);
      };
      waiting.push(look);
      look();
      void ended.then(() =>
        reject(new Error(`it ended without ${type}: ${JSON.stringify(lines)}`)),
      );
    });
  return { child, ended, first };
}
