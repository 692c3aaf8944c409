// One minute of soak on the embedded fabric and one on a real OpenSM.

import { fabricAvailable } from '../fabric/simulator.mjs';
import { soakEmbedded, soakOpensm } from '../soak/weather.mjs';

const SECONDS = 60;
const SEED = 1;

export async function soakLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  const runs = { embedded: soakEmbedded };
  const { ok, reason } = fabricAvailable();
  if (ok) runs.opensm = soakOpensm;
  else result.missing = reason;
  for (const [name, run] of Object.entries(runs)) {
    try {
      const report = await run(SECONDS, SEED);
      console.log(`ok      ${name}: ${JSON.stringify(report)}`);
      result.passed += 1;
    } catch (error) {
      console.log(`not ok  ${name}: ${error.message}`);
      result.failed += 1;
    }
  }
  return result;
}
