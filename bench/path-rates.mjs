// Path queries through queryPath$ and umad() against the subnet manager of a simulated fabric:
// native/bench/umad_peer.c does the same without us. A process of its own; see contestant.mjs.
//
//   node bench/path-rates.mjs SGID DGID QUERIES

import { lastValueFrom } from 'rxjs';
import { queryPath$, umad } from '../dist/index.js';
import { passes } from './contestant.mjs';

const [sgid, dgid, count] = process.argv.slice(2);
const queries = Number(count);
const provider = umad();

/** All at once; the SA client keeps them within its window. */
async function askAll() {
  const path$ = queryPath$({ provider, sgid, dgid });
  await Promise.all(Array.from({ length: queries }, () => lastValueFrom(path$)));
}

// What is measured is compiled code, not the compiler.
for (let i = 0; i < 5; i += 1) await askAll();

await passes(async () => {
  const start = performance.now();
  await askAll();
  return { pathsPerSecond: (queries * 1000) / (performance.now() - start) };
});
await provider.close();
