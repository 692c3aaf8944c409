import { runModule } from './run-module.js';
import type { End } from './run-module.js';

// What every program starts with: a fabric, three groups joined, and `joined` once they are.
const start = `
  const fabric = embeddedFabric({ delayMs: 1 });
  const joins = (of) => of.map((n) =>
    joinMulticast$({ provider: fabric, record: { mgid: 'ff12::' + n, ...creation } }));
  const report = () => console.log(JSON.stringify({
    members: fabric.members().length,
    made: fabric.stats().joinsStarted,
    freed: fabric.stats().handlesFreed,
  }));
`;

/** Runs a program on a fabric of its own to its end. */
export function runProgram(body: string, limitMs?: number): Promise<End> {
  return runModule(`${start}\n${body}`, limitMs);
}
