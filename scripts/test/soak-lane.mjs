// One minute of soak on the embedded fabric and one on a real OpenSM.

import { soakEmbedded, soakOpensm } from '../soak/weather.mjs';
import { ensureFabric } from './debian.mjs';

const SECONDS = 60;
const SEED = 1;

export async function soakLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  const runs = { embedded: soakEmbedded };
  result.missing = ensureFabric();
  if (result.missing === undefined) runs.opensm = soakOpensm;
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
