// A bounded run of every fuzz target, from the corpus in the repository.

import { buildTargets, fuzz, fuzzEngine, TARGETS } from '../fuzz/targets.mjs';
import { installPackages } from './debian.mjs';

const SECONDS = 15;

export function fuzzLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  // Without clang the targets still run, with less cunning.
  if (fuzzEngine() === 'driver' && process.env.CI === 'true') {
    const failure = installPackages(['clang', 'libclang-rt-14-dev']);
    if (failure !== undefined) console.log(`no libFuzzer: ${failure}`);
  }
  const engine = fuzzEngine();
  if (!buildTargets(engine)) return { ...result, failed: 1 };
  for (const target of TARGETS) {
    const { passed, text, executions, edges } = fuzz(engine, target, { seconds: SECONDS });
    const reached = edges === undefined ? '' : `, ${edges} edges`;
    const verdict = passed ? 'ok    ' : 'not ok';
    console.log(`${verdict}  ${target} (${engine}): ${executions} runs${reached}`);
    if (passed) {
      result.passed += 1;
    } else {
      result.failed += 1;
      console.log(text.slice(-10_000));
    }
  }
  return result;
}
