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

/** Memory errors, leaks (of the C++ tests) and undefined behaviour. */
export async function asanLane() {
  const preloads = [library('libasan.so'), library('libstdc++.so.6')];
  if (process.platform !== 'linux' || preloads.includes(undefined)) {
    return { passed: 0, failed: 0, skipped: 0, missing: 'g++ has no libasan.so here' };
  }
  const variant = 'asan';
  const extra =
    '-fPIC -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all';
  const env = { UBSAN_OPTIONS: 'print_stacktrace=1' };
  const cpp = await cppTests({ variant, extra, env });
  const settings = [`NODE_DIRECTORY=${nodeDirectory()}`];
  if (!(await make({ variant, extra, targets: ['addon'], settings }))) {
    return { ...cpp, failed: cpp.failed + 1 };
  }
  const addon = await vitestLane(
    ['--project', 'unit', '--no-file-parallelism', ...SLOWLY, ...SPECS],
    {
      ...env,
      // What Node leaves behind at its end is no business of ours.
      ASAN_OPTIONS: 'detect_leaks=0',
      RX_IB_MULTICAST_PREBUILD: join(variantFolder(variant), 'addon'),
      // Node itself is not instrumented, so the runtime has to be there before it; and the runtime
      // looks for the C++ library when it starts, which this node may have inside.
      LD_PRELOAD: preloads.join(' '),
      RXIB_INSTRUMENTED: variant,
    },
  );
  return {
    passed: cpp.passed + addon.passed,
    failed: cpp.failed + addon.failed,
    skipped: cpp.skipped + addon.skipped,
  };
}

/** Data races, in the C++ tests. */
export function tsanLane() {
  if (library('libtsan.so') === undefined) {
    return { passed: 0, failed: 0, skipped: 0, missing: 'g++ has no libtsan.so here' };
  }
  return cppTests({
    variant: 'tsan',
    extra: '-fPIC -fsanitize=thread',
    env: { TSAN_OPTIONS: 'halt_on_error=1' },
  });
}
