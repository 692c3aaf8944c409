// The C++ tests, without Node.

import { cppTests } from './cpp-tests.mjs';

export function nativeLane() {
  return cppTests({});
}
