// A bounded run of every fuzz target, from the corpus in the repository.

import { buildTargets, fuzz, fuzzEngine, TARGETS } from '../fuzz/targets.mjs';
import { installPackages } from './debian.mjs';

const SECONDS = 20;

export function fuzzLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  // Without clang the targets still run, with less cunning.
  if (fuzzEngine() === 'driver' && process.env.CI === 'true') {
    installPackages(['clang', 'libclang-rt-14-dev', 'llvm']);
  }
  const engine = fuzzEngine();
  if (!buildTargets(engine)) return { ...result, failed: 1 };
  for (const target of TARGETS) {
    const { passed, text, executions } = fuzz(engine, target, { seconds: SECONDS });
    console.log(`${passed ? 'ok    ' : 'not ok'}  ${target} (${engine}): ${executions} runs`);
    if (passed) {
      result.passed += 1;
    } else {
      result.failed += 1;
      console.log(text.slice(-10_000));
    }
  }
  return result;
}
