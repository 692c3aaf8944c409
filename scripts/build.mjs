// npm run build: everything that a checkout needs before it can run. Does what is missing only.

import { ensureAddon } from './setup/addon.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { ensurePackage } from './setup/package.mjs';

ensureDependencies();
ensureAddon();
ensurePackage();
