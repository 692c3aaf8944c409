import type Fs from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type WorkerThreads from 'node:worker_threads';
import { MulticastError } from '../errors/multicast-error.js';
import { Errno } from '../errors/errno.js';
import type { Addon } from './addon.js';

// Not an import for what only the addon needs: Node's fs brings its streams along, and with the module
// of the workers that is a tenth of what the import of this package takes.
const require = createRequire(import.meta.url);
const packageRoot = fileURLToPath(new URL('../..', import.meta.url));

/** The status for it when no file can be opened: whatever is looked for seems to be missing then. */
function descriptorShortage(): number | undefined {
  const { closeSync, openSync } = require('node:fs') as typeof Fs;
  try {
    closeSync(openSync(packageRoot, 'r'));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? Errno[code] : undefined;
  }
}

/**
 * Loads the `.node` file: a build of this machine, or else the prebuilt one.
 *
 * @throws MulticastError ENODEV when there is neither, EMFILE or ENFILE when no file can be opened.
 */
export function loadAddon(): Addon {
  try {
    const { path } = require('node-gyp-build') as { path: (root: string) => string };
    // Not by require(), whose cache would hand the same object to a second copy of these modules in
    // this thread; each needs an environment of its own. They still share ports: the file is one.
    const module = { exports: {} };
    process.dlopen(module, path(packageRoot));
    return module.exports as Addon;
  } catch (cause) {
    const shortage = descriptorShortage();
    if (shortage !== undefined) {
      throw new MulticastError(
        'the native addon of rx-ib-multicast could not be opened: too many files are open; close some, or raise the limit (ulimit -n)',
        { status: shortage, cause },
      );
    }
    throw new MulticastError(
      `the native addon of rx-ib-multicast could not be loaded on ${process.platform}-${process.arch}: ` +
        'there is no prebuilt binary for this machine, or it was not compiled at install; ' +
        'run `npm rebuild rx-ib-multicast` with g++, make and python3 installed',
      { status: Errno.ENODEV, cause },
    );
  }
}

/** Whether this is not a worker. */
export function inMainThread(): boolean {
  return (require('node:worker_threads') as typeof WorkerThreads).isMainThread;
}
