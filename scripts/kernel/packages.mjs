// The Debian packages of the guest: kernel, emulator and RDMA user space. They are fetched by name,
// in whatever version the system's package lists have now, and unpacked below .cache/kernel. Nothing
// is installed, and no root is needed where the package lists are there.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

const CACHE = join(root, '.cache', 'kernel');
const STAMP = join(CACHE, 'packages.json');

/** With what they depend on, as far as this system has not got it already. */
const PACKAGES = [
  'qemu-system-x86',
  'busybox-static',
  'rdmacm-utils',
  'iproute2',
  'librdmacm1',
  'libibverbs1',
  'ibverbs-providers',
  // Headers for the receiving queue pair of the tests.
  'libibverbs-dev',
];

/** In the order in which they are loaded; a file name has '-' or '_'. */
export const MODULES = [
  'crc32_generic',
  'configfs',
  'udp_tunnel',
  'ip6_udp_tunnel',
  'ib_core',
  'ib_uverbs',
  'ib_cm',
  'iw_cm',
  'rdma_cm',
  'rdma_ucm',
  'ib_umad',
  'rdma_rxe',
  'veth',
  'tls',
  'bonding',
];

class Unavailable extends Error {}

function command(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28, ...options });
  if (result.status === 0) return result.stdout;
  const why = (result.stderr || result.error?.message || '')
    .trim()
    .split('\n')
    .slice(-3)
    .join('; ');
  throw new Unavailable(`${program} ${args[0]} failed: ${why}`);
}

/** apt with folders of ours, so that any user may fetch. */
function apt(program, lists, args, options) {
  const own = lists === undefined ? [] : ['-o', `Dir::State::lists=${lists}`];
  return command(program, ['-qq', '-o', 'Debug::NoLocking=1', ...own, ...args], options);
}

/** The real kernel package behind the one that stands for the newest. */
function kernelPackage(lists) {
  const text = apt('apt-cache', lists, ['depends', 'linux-image-amd64']);
  const found = /Depends: (linux-image-\S+)/.exec(text);
  if (found === null) throw new Unavailable('the package lists know no linux-image-amd64');
  return found[1];
}

function fetch(folder, lists) {
  const kernel = kernelPackage(lists);
  apt(
    'apt-get',
    lists,
    [
      'install',
      '--reinstall',
      '--download-only',
      '--no-install-recommends',
      '-y',
      '-o',
      `Dir::Cache::archives=${folder}`,
      ...PACKAGES,
    ],
    { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } },
  );
  // Alone: what it depends on is there to install a kernel, which nobody does here.
  apt('apt-get', lists, ['download', kernel], { cwd: folder });
}

function unpack(folder, target) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.deb'));
  const kernel = files.find((name) => name.startsWith('linux-image-'));
  for (const name of files) {
    if (name !== kernel) command('dpkg-deb', ['-x', join(folder, name), target]);
  }
  // 70 MB of packed modules, of which fifteen are needed.
  const patterns = MODULES.map((name) => `*/${name.replaceAll('_', '[_-]')}.ko`);
  const result = spawnSync(
    'sh',
    [
      '-c',
      'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards "./boot/vmlinuz-*" ' +
        patterns.map((pattern) => `'${pattern}'`).join(' '),
      'sh',
      join(folder, kernel),
      target,
    ],
    { encoding: 'utf8' },
  );
  if (result.status !== 0) throw new Unavailable(`unpacking the kernel failed: ${result.stderr}`);
  return files.sort();
}

/**
 * The folder with everything unpacked, fetched at the first call and whenever the list above has
 * changed. `missing` says why there is none.
 */
export function guestPackages() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { missing: 'the guest is built on x86-64 Linux only' };
  }
  const unpacked = join(CACHE, 'root');
  const wanted = JSON.stringify([PACKAGES, MODULES]);
  if (existsSync(STAMP) && existsSync(unpacked)) {
    const stamp = JSON.parse(readFileSync(STAMP, 'utf8'));
    if (stamp.wanted === wanted) return { folder: unpacked, cache: CACHE, files: stamp.files };
  }
  const archives = join(CACHE, 'archives');
  const staging = join(CACHE, 'staging');
  for (const path of [archives, staging, unpacked]) rmSync(path, { recursive: true, force: true });
  mkdirSync(join(archives, 'partial'), { recursive: true });
  mkdirSync(staging, { recursive: true });
  process.stderr.write(`fetching ${PACKAGES.join(', ')} and a kernel ...\n`);
  try {
    try {
      fetch(archives, undefined);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      // The system's package lists are missing or stale, and they are not ours to renew.
      const lists = join(CACHE, 'lists');
      mkdirSync(join(lists, 'partial'), { recursive: true });
      apt('apt-get', lists, ['update']);
      fetch(archives, lists);
    }
    const files = unpack(archives, staging);
    renameSync(staging, unpacked);
    rmSync(archives, { recursive: true, force: true });
    writeFileSync(STAMP, JSON.stringify({ wanted, files }, null, 1));
    return { folder: unpacked, cache: CACHE, files };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { missing: `the Debian packages of the guest cannot be had: ${error.message}` };
  }
}
