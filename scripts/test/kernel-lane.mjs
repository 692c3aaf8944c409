// The tests against a real kernel's RDMA connection manager, in a virtual machine.
//
//   npm run test:kernel              the lane
//   npm run test:kernel -- --long    also thousands of joins and leaves, and what they leave behind

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { copyProgram, runGuest } from '../kernel/guest.mjs';
import { guestPackages } from '../kernel/packages.mjs';
import { root } from '../setup/run.mjs';

const TOOLS = '/opt/bin';
/** A healthy short run takes one minute, a long one three; on a busy host many times that. */
const LIMIT_MS = 900_000;
const LONG_LIMIT_MS = 1_500_000;

/** The queue pair that listens; its headers are those of the guest's packages. */
function buildReceiver({ folder, cache }) {
  const libraries = join(folder, 'usr/lib/x86_64-linux-gnu');
  mkdirSync(join(cache, 'tools'), { recursive: true });
  const program = join(cache, 'tools', 'multicast-receiver');
  const source = join(root, 'native/test/tools/multicast_receiver.cc');
  const compiled = spawnSync(
    process.env.CXX ?? 'g++',
    [
      ...['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-Wshadow', '-pthread'],
      ...['-isystem', join(folder, 'usr/include'), '-o', program, source],
      join(libraries, 'libibverbs.so.1'),
      `-Wl,-rpath-link,${libraries}`,
    ],
    { encoding: 'utf8' },
  );
  if (compiled.status !== 0) throw new Error(`${source}: ${compiled.stderr}`);
  return program;
}

/** The engine without node, for its thousands of cycles. */
function buildProbe() {
  const program = join(root, 'native/test/build/kernel/rdmacm-probe');
  const made = spawnSync(
    'make',
    ['-C', 'native/test', '--no-print-directory', '-j2', 'VARIANT=kernel', program],
    { cwd: root, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`rdmacm-probe: ${made.stdout}${made.stderr}`);
  return program;
}

/** The package as it is built here, its dependencies, node, and the tests. */
function copyPackage(image, folder, tools) {
  copyProgram(image, folder, process.execPath, `${TOOLS}/node`);
  for (const tool of tools) copyProgram(image, folder, tool, join(TOOLS, tool.split('/').pop()));
  image.copy(join(root, 'package.json'), '/app/package.json');
  image.copyFolder(join(root, 'dist'), '/app/dist', (path) => path.endsWith('.js'));
  const addon = join(root, 'build/Release/rx_ib_multicast.node');
  copyProgram(image, folder, addon, '/app/build/Release/rx_ib_multicast.node');
  for (const tests of ['kernel', 'conformance']) {
    image.copyFolder(join(root, 'marble-tests', tests), `/app/marble-tests/${tests}`, (path) =>
      path.endsWith('.mjs'),
    );
  }
  const modules = join(root, 'node_modules');
  for (const name of ['rxjs', 'tslib', 'node-gyp-build', 'commander']) {
    image.copyFolder(join(modules, name), `/app/node_modules/${name}`, (path) =>
      // rxjs comes in many forms, of which node loads one.
      name === 'rxjs' ? /\/rxjs\/(dist\/cjs\/.*\.js|package\.json)$/.test(path) : true,
    );
  }
}

export async function kernelLane(options = []) {
  const long = options.includes('--long');
  const result = { passed: 0, failed: 0, skipped: 0 };
  const packages = guestPackages();
  if (packages.missing !== undefined) return { ...result, missing: packages.missing };
  let tools;
  try {
    tools = [buildReceiver(packages), ...(long ? [buildProbe()] : [])];
  } catch (error) {
    console.log(`a native program of the lane does not compile: ${error.message}`);
    return { ...result, failed: 1 };
  }
  const suites = [
    'kernel/rdmacm.mjs',
    'conformance/contract-program.mjs rdmacm',
    ...(long ? ['kernel/cycles.mjs'] : []),
  ];
  const script = suites
    .map((suite) => `node --no-warnings --expose-gc /app/marble-tests/${suite} || failed=1`)
    .concat('echo "suites: ended"', 'exit ${failed:-0}')
    .join('\n');
  let ended = false;
  const outcome = await runGuest({
    script: `${script}\n`,
    fill: (image, folder) => copyPackage(image, folder, tools),
    limitMs: long ? LONG_LIMIT_MS : LIMIT_MS,
    onLine: (line) => {
      console.log(line);
      if (line.startsWith('ok ')) result.passed += 1;
      else if (line.startsWith('not ok ')) result.failed += 1;
      else if (line === 'suites: ended') ended = true;
    },
  });
  if (outcome.missing !== undefined) return { ...result, missing: outcome.missing };
  if (!outcome.passed || !ended) {
    console.log(`the guest did not pass: ${outcome.why ?? 'the tests did not come to their end'}`);
    if (result.failed === 0) result.failed = 1;
  }
  return result;
}
