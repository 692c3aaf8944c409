// The tests against a real OpenSM on a simulated fabric.

import { spawnSync } from 'node:child_process';
import { fabricAvailable } from '../fabric/simulator.mjs';
import { vitestLane } from './vitest-lane.mjs';

const PACKAGES = [
  'opensm',
  'ibsim-utils',
  'libumad2sim0',
  'libibumad3',
  'infiniband-diags',
  'tshark',
];

/** Installs the Debian packages of the lane where this user may; returns why not otherwise. */
function ensurePackages() {
  let available = fabricAvailable();
  if (available.ok) return undefined;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    return `${available.reason} (installing them needs root and apt-get)`;
  }
  process.stderr.write(`installing the Debian packages ${PACKAGES.join(' ')} ...\n`);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES],
  ]) {
    const result = spawnSync('apt-get', args, { encoding: 'utf8', env: environment });
    if (result.status !== 0) {
      return `${available.reason}; apt-get ${args[0]} failed: ${result.stderr.trim()}`;
    }
  }
  available = fabricAvailable();
  return available.ok ? undefined : available.reason;
}

export async function fabricLane() {
  const missing = ensurePackages();
  if (missing !== undefined) return { passed: 0, failed: 0, skipped: 0, missing };
  return vitestLane(['--project', 'fabric']);
}
