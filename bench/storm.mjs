import { runChild } from './run-child.mjs';

const MEMBERSHIPS = 10_000;
const SERVICE_RATE = 10_000;

/** Recovery of 10,000 memberships: on one host at full speed, then at a subnet manager that is slow. */
export async function measureStorm() {
  const one = await runChild('storm-run.mjs', MEMBERSHIPS, 1, 0, 64, 0.5);
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
  return { one, hosts };
}
