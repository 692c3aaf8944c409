import { afterAll, expect } from 'vitest';
import { describeContract } from '../conformance/contract-conformance.js';
import { withFabric } from './fabric-test.js';

const at = withFabric({ hosts: 2 });

// OpenSM has seen every membership come, and go.
afterAll(async () => {
  expect(await at.groups()).toEqual([]);
});

describeContract('umad', () =>
  Promise.resolve({ env: at.fabric.env('Hca2'), cwd: at.fabric.directory }),
);
