// The little of a test runner that is bearable where JavaScript runs eighteen times slower: one line
// per case on the console, which the kernel lane counts.

const cases = [];

/**
 * A case, run in the order of definition. Limits are generous: an emulated machine on a busy host is
 * slower still, and what is to be quick is measured where it matters.
 */
export function check(name, run, { limitMs = 300_000 } = {}) {
  cases.push({ name, run, limitMs });
}

export function equal(actual, expected, what) {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`${what} is ${left}, expected ${right}`);
}

export function truth(value, what) {
  if (!value) throw new Error(`not so: ${what}`);
}

/** Shown in the lane's output; for measured values. */
export function note(text) {
  console.log(`# ${text}`);
}

export function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves once `condition()` is true. */
export async function until(condition, what, limitMs = 60_000) {
  for (const start = performance.now(); !condition(); await delay(10)) {
    if (performance.now() - start > limitMs) throw new Error(`waited in vain: ${what}`);
  }
}

/** Runs every case and ends the process with the number of failures. */
export async function runChecks() {
  let failed = 0;
  for (const { name, run, limitMs } of cases) {
    const start = performance.now();
    let timer;
    try {
      await Promise.race([
        run(),
        new Promise((_, reject) => {
          timer = setTimeout(() => reject(new Error(`no end after ${limitMs} ms`)), limitMs);
        }),
      ]);
      console.log(`ok ${name} (${(performance.now() - start).toFixed(0)} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`not ok ${name}: ${String(error?.stack ?? error).replaceAll('\n', ' | ')}`);
    }
    clearTimeout(timer);
  }
  process.exitCode = Math.min(failed, 100);
}
