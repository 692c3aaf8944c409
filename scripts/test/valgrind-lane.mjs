// The C++ tests under valgrind: it sees what was never written, which no sanitizer of g++ does.

import { cppTests } from './cpp-tests.mjs';
import { ensureProgram } from './debian.mjs';

export function valgrindLane() {
  const missing = ensureProgram('valgrind', ['valgrind']);
  if (missing !== undefined) return { passed: 0, failed: 0, skipped: 0, missing };
  return cppTests({
    wrapper: [
      'valgrind',
      '--quiet',
      '--leak-check=full',
      '--show-leak-kinds=definite',
      '--errors-for-leak-kinds=definite',
      '--error-exitcode=9',
    ],
    // Fewer random runs: each instruction takes some twenty times as long.
    env: { RXIB_SA_SEEDS: '2' },
    timeoutMs: 900_000,
  });
}
