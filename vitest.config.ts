import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['marble-tests/**/*.spec.ts'],
          exclude: ['marble-tests/fabric/**'],
          setupFiles: ['marble-tests/setup/engine-check.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'fabric',
          include: ['marble-tests/fabric/**/*.spec.ts'],
          setupFiles: ['marble-tests/setup/engine-check.ts'],
          // Each file starts fabrics of its own; two cores carry two at a time.
          maxWorkers: 2,
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
