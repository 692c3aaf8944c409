// Where the addon finds Node's headers, without a download.

import { cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const complete = (directory) =>
  ['node_api.h', 'js_native_api.h', 'common.gypi', 'config.gypi'].every((name) =>
    existsSync(join(directory, 'include', 'node', name)),
  );

/**
 * A folder for node-gyp's --nodedir: the running node's own, else one made from the npm package
 * node-api-headers, which holds all that a Node-API addon includes.
 */
export function nodeDirectory() {
  const own = dirname(dirname(process.execPath));
  if (complete(own)) return own;
  const api = createRequire(import.meta.url).resolve('node-api-headers/package.json');
  const made = mkdtempSync(join(tmpdir(), 'node-api-headers-'));
  const include = join(made, 'include', 'node');
  mkdirSync(include, { recursive: true });
  cpSync(join(dirname(api), 'include'), include, { recursive: true });
  // node-gyp insists on these two; a Node-API addon needs nothing of what usually stands in them.
  const settings = {
    target_defaults: { cflags: [], default_configuration: 'Release' },
    variables: {},
  };
  writeFileSync(join(include, 'config.gypi'), JSON.stringify(settings));
  writeFileSync(
    join(include, 'common.gypi'),
    JSON.stringify({
      target_defaults: {
        default_configuration: 'Release',
        configurations: {
          Debug: { cflags: ['-g', '-O0'] },
          Release: { cflags: ['-O3'] },
        },
        cflags: ['-pthread', '-fPIC'],
        ldflags: ['-pthread'],
      },
    }),
  );
  return made;
}
