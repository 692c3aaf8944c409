// npm test: sets up what is missing, then runs the daily lanes. A lane that can't run is reported as
// skipped with its reason; under CI (CI=true) that is a failure.
//
// npm test -- <lane>...    runs only these: native, unit, examples, package, fabric, kernel,
//                          asan, tsan, valgrind, fuzz, soak, nodes
// npm test -- all          runs all of them
// npm test -- kernel --long    with the kernel lane's thousands of cycles
// Ends with the line "N passed, N failed, N skipped" over all lanes.

import { performance } from 'node:perf_hooks';
import './build.mjs';
import { examplesLane } from './test/examples-lane.mjs';
import { fabricLane } from './test/fabric-lane.mjs';
import { fuzzLane } from './test/fuzz-lane.mjs';
import { kernelLane } from './test/kernel-lane.mjs';
import { nativeLane } from './test/native-lane.mjs';
import { nodesLane } from './test/nodes-lane.mjs';
import { packageLane } from './test/package-lane.mjs';
import { asanLane, tsanLane } from './test/sanitizer-lanes.mjs';
import { soakLane } from './test/soak-lane.mjs';
import { unitLane } from './test/unit-lane.mjs';
import { valgrindLane } from './test/valgrind-lane.mjs';

/** What each does, and the seconds that it may cost on two cores with everything compiled anew. */
const lanes = {
  native: { run: nativeLane, budget: 120 },
  unit: { run: unitLane, budget: 120 },
  examples: { run: examplesLane, budget: 30 },
  package: { run: packageLane, budget: 90 },
  fabric: { run: fabricLane, budget: 150 },
  kernel: { run: kernelLane, budget: 150 },
  asan: { run: asanLane, budget: 330 },
  tsan: { run: tsanLane, budget: 210 },
  valgrind: { run: valgrindLane, budget: 60 },
  fuzz: { run: fuzzLane, budget: 150 },
  soak: { run: soakLane, budget: 150 },
  nodes: { run: nodesLane, budget: 120 },
};
// What these find hardly changes from one edit to the next, and they take minutes.
const THOROUGH = ['asan', 'tsan', 'valgrind', 'fuzz', 'soak', 'nodes'];

const OPTIONS = ['--long'];
const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const unknown = options.find((word) => !OPTIONS.includes(word));
if (unknown !== undefined) {
  console.error(`there is no option ${unknown}; options: ${OPTIONS.join(', ')}`);
  process.exit(2);
}
for (const name of asked) {
  if (name === 'all') continue;
  if (!Object.hasOwn(lanes, name)) {
    console.error(`there is no lane '${name}'; lanes: ${Object.keys(lanes).join(', ')}`);
    process.exit(2);
  }
}

const total = { passed: 0, failed: 0, skipped: 0 };
const summary = [];
for (const [name, { run, budget }] of Object.entries(lanes)) {
  const wanted =
    asked.length > 0 ? asked.includes('all') || asked.includes(name) : !THOROUGH.includes(name);
  if (!wanted) continue;
  console.log(`\n== ${name}`);
  const started = performance.now();
  const result = await run(options);
  const seconds = (performance.now() - started) / 1000;
  if (result.missing !== undefined) {
    if (process.env.CI === 'true') result.failed += 1;
    else result.skipped += 1;
    console.log(`lane ${name} did not run: ${result.missing}`);
  }
  // A lane in which nothing ran has shown nothing.
  if (result.passed + result.failed + result.skipped === 0) {
    console.log(`lane ${name} ran no test`);
    result.failed += 1;
  }
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const { passed, failed, skipped } = result;
  const time = `${seconds.toFixed(1).padStart(6)} of ${String(budget).padStart(3)} s`;
  const late = seconds > budget ? ' (over its budget)' : '';
  summary.push(
    `${name.padEnd(8)} ${time}  ${passed} passed, ${failed} failed, ${skipped} skipped${late}`,
  );
}

console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
