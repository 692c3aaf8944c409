// The npm packages of this checkout.

import { existsSync, lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './run.mjs';

/** Installs what package-lock.json names, unless it is installed already. */
export function ensureDependencies() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  // A link is somebody's deliberate arrangement, and npm ci would empty what it points to.
  const modules = lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false });
  if (modules?.isSymbolicLink()) return;
  const lock = join(root, 'package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  // Without scripts: nothing here needs one, and the addon is built in a step of its own.
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], 'installing the npm packages');
}
