import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseGid } from '../dist/address/gid.js';
import { fabricAvailable, startFabric } from '../scripts/fabric/simulator.mjs';
import { compete, ratioOf } from './contestant.mjs';

const PEER = fileURLToPath(new URL('../native/bench/build/umad-peer', import.meta.url));
const RATES = fileURLToPath(new URL('opensm-rates.mjs', import.meta.url));
const GROUPS = '1000';
const PATH_RATES = fileURLToPath(new URL('path-rates.mjs', import.meta.url));
const ROUNDS = 15;
/** The default of `maxOutstanding`. */
const DEFAULT_WINDOW = '64';

/** The port of a simulated host, as a client there sees it. */
function portOf(env) {
  const script = `import('${new URL('../dist/index.js', import.meta.url)}').then((m) => console.log(JSON.stringify(m.umad().ports()[0])))`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return JSON.parse(stdout);
}

/** A plain client in C against joinMulticast$ and queryPath$, both at one OpenSM. */
export async function measureOpensm() {
  const available = fabricAvailable();
  if (!available.ok) return { missing: available.reason };
  const fabric = await startFabric({ mlids: 4096 });
  try {
    return await measureOn(fabric);
  } finally {
    await fabric.stop();
  }
}

async function measureOn(fabric) {
  const windows = {};
  const hosts = [fabric.env('Hca2'), fabric.env('Hca3')];
  const port = portOf(hosts[0]);
  const gid = Buffer.from(parseGid(port.gid)).toString('hex');
  for (const window of ['1', '16', '64']) {
    const results = await compete({
      commands: [
        [PEER, port.device, String(port.port), String(port.smLid), gid, window, GROUPS],
        [process.execPath, RATES, window, GROUPS],
      ],
      rounds: ROUNDS,
      env: hosts,
    });
    const joins = ratioOf(results, 'joinsPerSecond');
    const leaves = ratioOf(results, 'leavesPerSecond');
    const [p50, p99] = ['p50Us', 'p99Us'].map((key) => ratioOf(results, key));
    windows[`window${window}`] = {
      c: joins.first,
      js: joins.second,
      ratio: joins.ratio,
      spread: joins.spread,
      leaves: { c: leaves.first, js: leaves.second, ratio: leaves.ratio, spread: leaves.spread },
      p50Us: { c: p50.first, js: p50.second },
      p99Us: { c: p99.first, js: p99.second },
    };
  }
  return { ...windows, paths: await measurePaths(hosts, port, portOf(hosts[1])) };
}

/** A thousand path queries with the default window, from one host to the other. */
async function measurePaths(hosts, from, to) {
  const hex = (gid) => Buffer.from(parseGid(gid)).toString('hex');
  const at = [from.device, String(from.port), String(from.smLid), hex(from.gid)];
  const results = await compete({
    commands: [
      [PEER, ...at, DEFAULT_WINDOW, GROUPS, hex(to.gid)],
      [process.execPath, PATH_RATES, from.gid, to.gid, GROUPS],
    ],
    rounds: ROUNDS,
    env: hosts,
  });
  const { first, second, ratio, spread } = ratioOf(results, 'pathsPerSecond');
  return { c: first, js: second, ratio, spread };
}
