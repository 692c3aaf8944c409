// Two sides of a ratio are processes that live side by side and take turns, so that whatever else
// the machine does strikes both alike: a side does one pass for each line it is sent, and answers
// with a line of JSON.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { median, spread } from './statistics.mjs';

/** The side of the measured process: runs `pass` for each line of the input. */
export async function passes(pass) {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === '') continue;
    console.log(JSON.stringify(await pass()));
  }
}

class Contestant {
  #child;
  #lines;

  constructor([program, ...args], env) {
    this.name = program;
    this.#child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async pass() {
    this.#child.stdin.write('go\n');
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.name} ended before it had answered`);
    return JSON.parse(value);
  }

  async end() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}

/**
 * Lets two sides take turns, after a pass of each that does not count.
 *
 * @returns the passes of both, in pairs.
 */
export async function compete({ commands, rounds, env = {} }) {
  const sides = commands.map(
    (command, index) =>
      new Contestant(command, { ...process.env, ...(Array.isArray(env) ? env[index] : env) }),
  );
  for (const side of sides) await side.pass();
  const results = [];
  for (let round = 0; round < rounds; round += 1) {
    // Neither side is always the first.
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    const pair = [];
    for (const index of order) pair[index] = await sides[index].pass();
    results.push(pair);
  }
  for (const side of sides) await side.end();
  return results;
}

/** One figure of both sides, and the ratio of the second to the first, pair by pair. */
export function ratioOf(results, key) {
  const ratios = results.map(([first, second]) => second[key] / first[key]);
  return {
    first: median(results.map(([first]) => first[key])),
    second: median(results.map(([, second]) => second[key])),
    ratio: median(ratios),
    spread: spread(ratios),
  };
}
