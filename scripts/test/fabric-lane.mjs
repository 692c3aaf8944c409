// The tests against a real OpenSM on a simulated fabric.

import { ensureFabric } from './debian.mjs';
import { vitestLane } from './vitest-lane.mjs';

export async function fabricLane() {
  const missing = ensureFabric();
  if (missing !== undefined) return { passed: 0, failed: 0, skipped: 0, missing };
  return vitestLane(['--project', 'fabric']);
}
