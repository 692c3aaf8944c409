// npm's install script: where there is no prebuilt binary that loads, the addon is compiled.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { nodeDirectory } from './setup/node-headers.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

function prebuilt() {
  try {
    require('node-gyp-build')(root);
    return true;
  } catch {
    return false;
  }
}

// In a checkout, `npm run build` and the commands that need it do this.
const checkout = existsSync(new URL('../native/test', import.meta.url));
if (!checkout && !prebuilt()) {
  // npm tells its scripts where its own node-gyp is.
  const gyp = process.env.npm_config_node_gyp;
  const [command, args] = gyp === undefined ? ['node-gyp', []] : [process.execPath, [gyp]];
  const result = spawnSync(
    command,
    [...args, 'rebuild', '--jobs', 'max', '--nodedir', nodeDirectory()],
    { cwd: root, stdio: 'inherit' },
  );
  if (result.status !== 0) {
    console.error(
      `rx-ib-multicast: there is no prebuilt binary for ${process.platform}-${process.arch}, and the ` +
        'native addon could not be compiled. It needs a C++17 compiler, make and python3. ' +
        'With npm install --ignore-scripts the package installs without it: then the marble kit ' +
        '(rx-ib-multicast/testing) works, and native providers report ENODEV.',
    );
    process.exit(1);
  }
}
