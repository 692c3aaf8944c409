// `npm run bench`: measures this package against its peers, in about three minutes.
//
//   npm run bench                     tables
//   npm run bench -- --json           one object of JSON
//   npm run bench -- --only storm     one section: embedded, opensm, rx, storm, memory, startup
//   npm run bench -- --plot           also draws docs/pictures/storm.svg

import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureAddon } from './setup/addon.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { ensurePackage } from './setup/package.mjs';
import { root, run } from './setup/run.mjs';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    plot: { type: 'boolean', default: false },
  },
});

ensureDependencies();
ensureAddon();
ensurePackage();
const wanted = (section) => values.only === undefined || values.only.includes(section);
run('make', ['-s', '-C', 'native/bench', 'engine'], 'compiling the engine alone');

const sections = {
  embedded: async () => (await import('../bench/embedded.mjs')).measureEmbedded(),
  opensm: async () => {
    run('make', ['-s', '-C', 'native/bench', 'peer'], 'compiling the peer in C');
    return (await import('../bench/opensm.mjs')).measureOpensm();
  },
  rx: async () => (await import('../bench/run-child.mjs')).runChild('rx-overhead.mjs'),
  storm: async () => (await import('../bench/storm.mjs')).measureStorm(),
  memory: async () => (await import('../bench/memory-use.mjs')).measureMemory(),
  startup: async () => (await import('../bench/startup.mjs')).measureStartup(),
};
for (const section of values.only ?? []) {
  if (!Object.hasOwn(sections, section)) {
    console.error(`no section ${section}; sections: ${Object.keys(sections).join(', ')}`);
    process.exit(2);
  }
}

const results = {
  machine: {
    node: process.version,
    cpu: cpus()[0]?.model,
    cores: availableParallelism(),
    loadBefore: loadavg()[0],
  },
};
for (const [name, measure] of Object.entries(sections)) {
  if (!wanted(name)) continue;
  process.stderr.write(`measuring ${name} ...\n`);
  results[name] = await measure();
}
results.machine.loadAfter = loadavg()[0];

if (values.plot && results.storm !== undefined) {
  const { stormPlot } = await import('../bench/plot.mjs');
  writeFileSync(join(root, 'docs/pictures/storm.svg'), stormPlot(results.storm));
}
if (values.json) {
  console.log(JSON.stringify(results));
} else {
  const { report } = await import('../bench/report.mjs');
  console.log(report(results));
}
