// npm run soak -- [--minutes N] [--opensm] [--seed N]
// Random joins, leaves and faults: 2,000 groups on the embedded fabric, or 500 on a real OpenSM.

import './build.mjs';
import { soakEmbedded, soakOpensm } from './soak/weather.mjs';

const words = process.argv.slice(2);
const number = (flag, otherwise) => {
  const at = words.indexOf(flag);
  const value = at < 0 ? otherwise : Number(words[at + 1]);
  if (!(value > 0)) {
    console.error(`${flag} expects a number above 0, got ${words[at + 1]}`);
    process.exit(2);
  }
  return value;
};
const minutes = number('--minutes', 1);
const seed = number('--seed', 1);
const opensm = words.includes('--opensm');
console.log(
  JSON.stringify(await (opensm ? soakOpensm : soakEmbedded)(minutes * 60, seed), undefined, 2),
);
