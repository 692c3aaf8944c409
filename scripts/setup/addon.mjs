// The native addon of this checkout.

import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { nodeDirectory } from './node-headers.mjs';
import { digestOf, filesBelow, root, run, unlessCurrent } from './run.mjs';

const ROOMS = ['addon', 'core', 'codec', 'sa', 'embedded', 'rdma', 'umad', 'rdmacm'];
const ADDON = 'build/Release/rx_ib_multicast.node';
/** Where node-gyp works: what runs meanwhile keeps the addon it has. */
const WORKSHOP = 'build/workshop';

/** Compiles the addon, unless the one in build/Release is made of exactly these sources. */
export function ensureAddon() {
  const sources = ['binding.gyp', ...ROOMS.map((room) => `native/${room}`)];
  const digest = digestOf(sources, process.arch, process.platform);
  unlessCurrent('build/.sources', digest, ADDON, () => {
    const workshop = join(root, WORKSHOP);
    mirror('binding.gyp', workshop);
    for (const room of ROOMS) mirror(`native/${room}`, workshop);
    const gyp = join(root, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
    const headers = ['--nodedir', nodeDirectory()];
    const nodeGyp = (what, ...args) =>
      run(process.execPath, [gyp, ...args], what, { cwd: workshop });
    nodeGyp('configuring the native addon', 'configure', ...headers, '--', '-Drxib_werror=1');
    nodeGyp('compiling the native addon', 'build', '--jobs', 'max', ...headers);
    replace(join(workshop, ADDON), join(root, ADDON));
  });
}

/**
 * Makes a file or folder of the workshop equal to the checkout's. Files that are equal already are not
 * written, so that make compiles what has changed, by content and not by date.
 */
function mirror(name, workshop) {
  const from = join(root, name);
  const to = join(workshop, name);
  const wanted = [...filesBelow(from)];
  const known = new Set(wanted.map((path) => relative(from, path)));
  if (existsSync(to)) {
    for (const path of filesBelow(to)) if (!known.has(relative(to, path))) rmSync(path);
  }
  for (const path of wanted) {
    const copy = join(to, relative(from, path));
    if (existsSync(copy) && readFileSync(copy).equals(readFileSync(path))) continue;
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(path, copy);
  }
}

/** Puts a copy in the place of a file in one step: whoever opens it gets the old one or the new one. */
function replace(from, target) {
  mkdirSync(dirname(target), { recursive: true });
  const beside = `${target}.${process.pid}`;
  cpSync(from, beside);
  renameSync(beside, target);
}
