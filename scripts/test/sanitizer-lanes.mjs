// The C++ tests, and the tests that work the addon hardest, in instrumented builds of their own.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { nodeDirectory } from '../setup/node-headers.mjs';
import { cppTests, make, variantFolder } from './cpp-tests.mjs';
import { vitestLane } from './vitest-lane.mjs';

// The umad provider is left out: the simulator's preload reads beyond its own buffers.
const SPECS = [
  'marble-tests/providers/embedded-fabric.spec.ts',
  ...['exit', 'faults', 'many-outages', 'ownership'].map(
    (name) => `marble-tests/lifecycle/${name}.spec.ts`,
  ),
  'marble-tests/binding',
];

// Node alone takes seconds to start under a sanitizer.
const SLOWLY = ['--testTimeout=240000', '--hookTimeout=240000'];

/** The file of a library of the compiler's, or undefined. */
function library(name) {
  const found = spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = (found.stdout ?? '').trim();
  // What it cannot find it repeats.
  return path.startsWith('/') ? path : undefined;
}

/**
 * The shadow memory of these runtimes has fixed places, and kernels that put libraries at more random
 * addresses than it was made for collide with it: so no randomness, where that may be switched off.
 */
function atFixedAddresses() {
  return spawnSync('setarch', ['-R', 'true']).status === 0 ? ['setarch', '-R'] : [];
}

/**
 * The C++ tests, then the addon's. Node itself is not instrumented, so the runtime has to be there
 * before it: `preloads`. `env` is for both, `nodeEnv` for node alone.
 */
async function instrumented({ variant, extra, preloads, env, nodeEnv }) {
  const libraries = preloads.map(library);
  if (process.platform !== 'linux' || libraries.includes(undefined)) {
    return { passed: 0, failed: 0, skipped: 0, missing: `g++ has no ${preloads[0]} here` };
  }
  const wrapper = atFixedAddresses();
  const cpp = await cppTests({ variant, extra, wrapper, env });
  const settings = [`NODE_DIRECTORY=${nodeDirectory()}`];
  if (!(await make({ variant, extra, targets: ['addon'], settings }))) {
    return { ...cpp, failed: cpp.failed + 1 };
  }
  const addon = await vitestLane(
    ['--project', 'unit', '--no-file-parallelism', ...SLOWLY, ...SPECS],
    {
      ...env,
      ...nodeEnv,
      RX_IB_MULTICAST_PREBUILD: join(variantFolder(variant), 'addon'),
      RXIB_INSTRUMENTED: variant,
    },
    [...wrapper, 'env', `LD_PRELOAD=${libraries.join(' ')}`, process.execPath],
  );
  return {
    passed: cpp.passed + addon.passed,
    failed: cpp.failed + addon.failed,
    skipped: cpp.skipped + addon.skipped,
  };
}

/** Memory errors, leaks (of the C++ tests) and undefined behaviour. */
export function asanLane() {
  return instrumented({
    variant: 'asan',
    extra: '-fPIC -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all',
    // The runtime looks for the C++ library when it starts, which this node may have inside.
    preloads: ['libasan.so', 'libstdc++.so.6'],
    env: { UBSAN_OPTIONS: 'print_stacktrace=1' },
    // What Node leaves behind at its end is no business of ours.
    nodeEnv: { ASAN_OPTIONS: 'detect_leaks=0' },
  });
}

/** Data races. */
export function tsanLane() {
  return instrumented({
    variant: 'tsan',
    extra: '-fPIC -fsanitize=thread',
    preloads: ['libtsan.so'],
    env: { TSAN_OPTIONS: 'halt_on_error=1' },
    nodeEnv: {
      // Node's own memory is not watched: its atomics are not seen, so all of it would look like
      // races. Its mutexes are, and the addon's memory is watched on every thread. That takes the
      // place of a list of suppressions.
      TSAN_OPTIONS: 'halt_on_error=1:ignore_noninstrumented_modules=1:atexit_sleep_ms=0',
    },
  });
}
