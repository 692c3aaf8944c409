// npm run fabric -- [options --] <command...>: runs a command on a simulated InfiniBand fabric with
// a real OpenSM, and takes the fabric down when the command has ended.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fabricAvailable, startFabric } from './fabric/simulator.mjs';

const USAGE = `Usage: npm run fabric -- [--hosts N] [--host NAME] [--mlids N] <command...>

  --hosts N     hosts on the switch: Hca1 to HcaN, OpenSM on Hca1 (default 4)
  --host NAME   the host the command lives on (default Hca2)
  --mlids N     multicast LIDs of the switch (default 1024)

The command also finds RXIB_FABRIC_HOST, RXIB_FABRIC_HOSTS, RXIB_FABRIC_SM_HOST, RXIB_FABRIC_SM_PID
and RXIB_FABRIC_DIRECTORY in its environment. Its exit code is passed on.`;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

class UsageError extends Error {}

function parse(args) {
  const options = { hosts: 4, host: undefined, mlids: undefined };
  const rest = [...args];
  const number = (flag, text) => {
    if (!/^[1-9]\d*$/.test(text ?? ''))
      throw new UsageError(`${flag} expects a number, got ${text}`);
    return Number(text);
  };
  while (rest[0]?.startsWith('-')) {
    const flag = rest.shift();
    if (flag === '--') break;
    if (flag === '--help' || flag === '-h') return { help: true };
    if (flag === '--hosts') options.hosts = number(flag, rest.shift());
    else if (flag === '--mlids') options.mlids = number(flag, rest.shift());
    else if (flag === '--host') options.host = rest.shift();
    else throw new UsageError(`unknown option ${flag}`);
  }
  if (rest.length === 0) throw new UsageError('no command given');
  return { options, command: rest };
}

/**
 * Clients keep their view of the fabric in ./sys-<pid> and leave it behind when they are killed.
 * Only what appeared during this run, and whose process is gone, is removed.
 */
function removeRemains(known) {
  for (const name of simulatorDirectories()) {
    if (known.has(name)) continue;
    if (existsSync(join('/proc', name.slice('sys-'.length)))) continue;
    rmSync(name, { recursive: true, force: true });
  }
}

function simulatorDirectories() {
  return readdirSync('.').filter((name) => /^sys-\d+$/.test(name));
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader, signal);
  } catch {
    // Nothing is left of the group.
  }
}

/** Whether a process of the group runs. A zombie that nobody collects does not count. */
function groupLives(leader) {
  return readdirSync('/proc').some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      // The name in parentheses may contain spaces; state, parent and group follow it.
      const stat = readFileSync(join('/proc', entry, 'stat'), 'latin1');
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return group === String(leader) && state !== 'Z';
    } catch {
      return false;
    }
  });
}

/**
 * Ends what the command left running, for it would hang once the simulator is gone. It is asked
 * first: a wrapper such as npx dies of a signal without passing it on, and the program behind it may
 * have memberships to leave.
 */
async function endGroup(leader) {
  signalGroup(leader, 'SIGTERM');
  for (let waited = 0; waited < 5_000 && groupLives(leader); waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  signalGroup(leader, 'SIGKILL');
}

async function run(fabric, host, [program, ...args]) {
  // From a terminal Ctrl-C reaches the command by itself, and job control needs the command in the
  // same process group. Otherwise it gets a group of its own, so that a signal to this group arrives
  // once: with a second SIGINT a program may stop waiting.
  const interactive = process.stdin.isTTY === true;
  const child = spawn(program, args, {
    stdio: 'inherit',
    env: fabric.env(host),
    detached: !interactive,
  });
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !interactive) child.kill(signal);
    });
  }
  // npm's own shell does not pass a signal on, it only dies of it.
  const parent = process.ppid;
  const parentWatch = setInterval(() => {
    if (process.ppid === parent || process.env.npm_lifecycle_event === undefined) return;
    clearInterval(parentWatch);
    child.kill('SIGTERM');
  }, 100);
  void fabric.ended.then(() => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    // A client of a simulator that is gone hangs in its next call, out of reach of SIGTERM.
    process.stderr.write('fabric: the simulator ended before the command\n');
    child.kill('SIGKILL');
  });
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      const missing = error.code === 'ENOENT';
      process.stderr.write(
        missing ? `command not found: ${program}\n` : `fabric: ${program}: ${error.message}\n`,
      );
      resolve(missing ? 127 : 126);
    });
    child.once('exit', (status, signal) =>
      resolve(signal === null ? status : 128 + constants.signals[signal]),
    );
  });
  clearInterval(parentWatch);
  if (!interactive && child.pid !== undefined) await endGroup(child.pid);
  return code;
}

async function main() {
  let parsed;
  try {
    parsed = parse(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`fabric: ${error.message}\n\n${USAGE}\n`);
    return 2;
  }
  if (parsed.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const available = fabricAvailable();
  if (!available.ok) {
    process.stderr.write(`fabric: ${available.reason}\n`);
    return 69;
  }
  const { hosts, host, mlids } = parsed.options;
  // Until the command runs, a signal only makes sure that the fabric is taken down again.
  let early;
  const remember = (signal) => (early ??= signal);
  for (const signal of SIGNALS) process.once(signal, remember);
  const known = new Set(simulatorDirectories());
  const fabric = await startFabric({ hosts, ...(mlids === undefined ? {} : { mlids }) });
  try {
    if (early !== undefined) return 128 + constants.signals[early];
    return await run(fabric, host ?? fabric.hosts[Math.min(1, hosts - 1)], parsed.command);
  } finally {
    await fabric.stop();
    removeRemains(known);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`fabric: ${error.message}\n`);
  process.exitCode = 70;
}
