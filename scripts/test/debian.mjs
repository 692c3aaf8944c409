// Programs of the system that some lanes need.

import { spawnSync } from 'node:child_process';
import { fabricAvailable } from '../fabric/simulator.mjs';

const FABRIC = [
  'opensm',
  'ibsim-utils',
  'libumad2sim0',
  'libibumad3',
  'infiniband-diags',
  'tshark',
];

/** The package lists are renewed once, whichever lane comes first. */
let listsRenewed = false;

/**
 * Installs Debian packages where this user may. Returns why it could not, or undefined; whether
 * what was wanted has come with them is for the caller to see.
 */
export function installPackages(packages) {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    return 'installing that needs root and apt-get';
  }
  process.stderr.write(`installing the Debian packages ${packages.join(' ')} ...\n`);
  for (const args of [
    ...(listsRenewed ? [] : [['update', '-qq']]),
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
  ]) {
    const result = spawnSync('apt-get', args, {
      encoding: 'utf8',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (result.status !== 0) return `apt-get ${args[0]} failed: ${result.stderr.trim()}`;
    listsRenewed = true;
  }
  return undefined;
}

/** Whether the program starts; the packages are installed first where it does not. */
export function ensureProgram(program, packages) {
  const starts = () => spawnSync(program, ['--version']).status === 0;
  if (starts()) return undefined;
  const failure = installPackages(packages);
  return starts() ? undefined : `there is no ${program} (${failure ?? packages.join(' ')})`;
}

/** What a simulated fabric needs. Returns why there is none, or undefined. */
export function ensureFabric() {
  const { ok, reason } = fabricAvailable();
  if (ok) return undefined;
  const failure = installPackages(FABRIC);
  if (fabricAvailable().ok) return undefined;
  return failure === undefined ? reason : `${reason} (${failure})`;
}
