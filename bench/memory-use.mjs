import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runChild } from './run-child.mjs';

const ENGINE = fileURLToPath(new URL('../native/bench/build/engine-bench', import.meta.url));
const GROUPS = 100_000;

/** Bytes per idle membership at 100,000: JavaScript heap and native heap. */
export async function measureMemory() {
  const js = await runChild('memory.mjs', GROUPS);
  const native = JSON.parse(
    execFileSync(ENGINE, ['--memory', String(GROUPS)], { encoding: 'utf8' }),
  );
  return {
    // Without what the caller's own request takes.
    js: js.bytesPerMembership - js.requestBytes,
    request: js.requestBytes,
    native: native.bytesPerMembership,
    total: js.bytesPerMembership - js.requestBytes + native.bytesPerMembership,
  };
}
