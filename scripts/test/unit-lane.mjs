// Everything in marble-tests/ that needs nothing but this checkout.

import { vitestLane } from './vitest-lane.mjs';

export function unitLane() {
  return vitestLane(['--project', 'unit']);
}
