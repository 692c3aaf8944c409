import { fileURLToPath } from 'node:url';
import { compete, ratioOf } from './contestant.mjs';

const ENGINE = fileURLToPath(new URL('../native/bench/build/engine-bench', import.meta.url));
const RATES = fileURLToPath(new URL('embedded-rates.mjs', import.meta.url));
const ROUNDS = { 1000: 41, 10000: 15, 100000: 7 };

/** The engine alone against joinMulticast$, on the embedded fabric. */
export async function measureEmbedded() {
  const sizes = {};
  for (const [groups, rounds] of Object.entries(ROUNDS)) {
    const results = await compete({
      commands: [
        [ENGINE, groups],
        [process.execPath, RATES, groups],
      ],
      rounds,
    });
    const joins = ratioOf(results, 'joinsPerSecond');
    const frees = ratioOf(results, 'freesPerSecond');
    sizes[groups] = {
      engine: joins.first,
      js: joins.second,
      ratio: joins.ratio,
      spread: joins.spread,
      frees: { engine: frees.first, js: frees.second, ratio: frees.ratio, spread: frees.spread },
    };
  }
  const growth = (side) => sizes[1000][side] / sizes[100000][side];
  return {
    ...sizes,
    // Time per join at 100,000 groups over that at 1,000.
    growth: { engine: growth('engine'), js: growth('js') },
  };
}
