// Everything in marble-tests/ that needs nothing but this checkout.

import { ensureFabric } from './debian.mjs';
import { vitestLane } from './vitest-lane.mjs';

export function unitLane() {
  // With the packages of the fabric comes tshark, without which the tests that have it read MADs are
  // skipped.
  if (process.env.CI === 'true') ensureFabric();
  return vitestLane(['--project', 'unit']);
}
