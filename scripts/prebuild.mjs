// npm run prebuilt: puts the compiled addon of this machine where node-gyp-build finds it in a
// packed package, after checking that it runs on older systems than this one.

import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import './build.mjs';
import { root, run } from './setup/run.mjs';

const NEWEST_GLIBC = [2, 34];

const addon = join(root, 'build', 'Release', 'rx_ib_multicast.node');
const { platform, arch } = process;
const folder = join(root, 'prebuilds', `${platform}-${arch}`);
const linux = platform === 'linux';
const target = join(folder, `rx-ib-multicast.${linux ? 'glibc.' : ''}node`);

rmSync(join(root, 'prebuilds'), { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
copyFileSync(addon, target);
if (linux) {
  run('strip', ['--strip-unneeded', target], 'stripping the addon');
  const symbols = run('objdump', ['-T', target], 'reading its symbols');
  const tooNew = new Set();
  for (const [, major, minor] of symbols.matchAll(/GLIBC_(\d+)\.(\d+)/g)) {
    const newer = Number(major) - NEWEST_GLIBC[0] || Number(minor) - NEWEST_GLIBC[1];
    if (newer > 0) tooNew.add(`GLIBC_${major}.${minor}`);
  }
  const shared = run('objdump', ['-p', target], 'reading what it links to');
  const dynamic = [...shared.matchAll(/NEEDED\s+(libstdc\+\+\S*)/g)].map((m) => m[1]);
  if (tooNew.size > 0 || dynamic.length > 0) {
    console.error(
      `the addon needs ${[...tooNew, ...dynamic].join(', ')}; it may need no glibc newer than ` +
        `${NEWEST_GLIBC.join('.')} and no shared libstdc++`,
    );
    process.exit(1);
  }
}
console.error(`prebuilt ${target}`);
