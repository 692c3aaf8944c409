import { runChild, runChildWith } from './run-child.mjs';
import { median } from './statistics.mjs';

const MEMBERSHIPS = 10_000;
const SERVICE_RATE = 10_000;
const ROUNDS = 5;

/** Of several runs the one with the median block, since a block is a matter of luck as well. */
async function medianRun(flags) {
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.push(await runChildWith(flags, 'storm-run.mjs', MEMBERSHIPS, 1, 0, 64, 0.5));
  }
  const wanted = median(runs.map((run) => run.blockMs));
  return runs.find((run) => run.blockMs === wanted);
}

/** Recovery of 10,000 memberships: on one host at full speed, then at a subnet manager that is slow. */
export async function measureStorm() {
  const one = await medianRun([]);
  const smallNursery = await medianRun(['--max-semi-space-size=2']);
  const hosts = [];
  for (const count of [1, 10, 100]) {
    for (const [window, jitter] of [
      [64, 0.5],
      [64, 0],
      [255, 0],
      [16, 0.5],
    ]) {
      hosts.push(await runChild('storm-run.mjs', MEMBERSHIPS, count, SERVICE_RATE, window, jitter));
    }
  }
  return { one, smallNursery, hosts };
}
