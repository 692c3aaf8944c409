// Puts the contract's cases to one backend: node --expose-gc contract-program.mjs embedded|umad|rdmacm

import { check, note, runChecks } from '../kernel/checks.mjs';
import { backendOf } from './contract-backends.mjs';
import { CONTRACT_CASES } from './contract-cases.mjs';

const backend = backendOf(process.argv[2]);
for (const { name, run, except = {} } of CONTRACT_CASES) {
  const reason = except[backend.name];
  if (reason === undefined) check(name, () => run(backend));
  else note(`left out: ${name}: ${reason}`);
}
check('closing ends it', () => backend.provider.close());

await runChecks();
