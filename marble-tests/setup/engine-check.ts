import { afterEach, expect } from 'vitest';
import { loadedEnvironment } from '../../src/binding/environment.js';

// After every test of every file: as many handles were freed as were made, on every port.
afterEach(() => {
  const environment = loadedEnvironment();
  if (environment === undefined) return;
  expect(environment.abandoned).toBe(0);
  for (const { stats } of environment.openPorts()) {
    expect(stats.handlesFreed).toBe(stats.joinsStarted);
    expect(stats.handlesAlive).toBe(0);
  }
});
