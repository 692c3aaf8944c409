// The native addon of this checkout.

import { join } from 'node:path';
import { nodeDirectory } from './node-headers.mjs';
import { digestOf, root, run, unlessCurrent } from './run.mjs';

/** Compiles the addon, unless the one in build/Release is made of exactly these sources. */
export function ensureAddon() {
  const rooms = ['addon', 'core', 'codec', 'sa', 'embedded', 'rdma', 'umad', 'rdmacm'];
  const sources = rooms.map((room) => `native/${room}`);
  const digest = digestOf(['binding.gyp', ...sources], process.arch, process.platform);
  const addon = 'build/Release/rx_ib_multicast.node';
  unlessCurrent('build/.sources', digest, addon, () => {
    const gyp = join(root, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
    run(
      process.execPath,
      [gyp, 'rebuild', '--jobs', 'max', '--nodedir', nodeDirectory(), '--', '-Drxib_werror=1'],
      'compiling the native addon',
    );
  });
}
