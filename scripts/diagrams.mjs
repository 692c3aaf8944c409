// npm run diagrams: draws docs/pictures anew from marble-tests/diagrams, after asserting each diagram.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureDependencies } from './setup/dependencies.mjs';
import { root } from './setup/run.mjs';

ensureDependencies();
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--update', '--project', 'unit', 'marble-tests/diagrams'],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = status ?? 1;
