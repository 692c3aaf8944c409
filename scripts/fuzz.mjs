// npm run fuzz                            every target, 20 seconds each
// npm run fuzz -- <target> [seconds]     one of mad, records, port, sa_client, embedded
// With --keep, new inputs stay in native/fuzz/corpus; with --seed=N another path is taken.

import { buildTargets, coverage, fuzz, fuzzEngine, TARGETS } from './fuzz/targets.mjs';

const words = process.argv.slice(2);
const keep = words.includes('--keep');
const seed = Number(words.find((word) => word.startsWith('--seed='))?.slice(7) ?? 1);
const [target, time = '20'] = words.filter((word) => !word.startsWith('--'));
if (target !== undefined && !TARGETS.includes(target)) {
  console.error(`there is no target '${target}'; targets: ${TARGETS.join(', ')}`);
  process.exit(2);
}
const seconds = Number(time);
if (!(seconds > 0)) {
  console.error(`the time is '${time}'; expected seconds`);
  process.exit(2);
}

const engine = fuzzEngine();
if (!buildTargets(engine)) process.exit(1);
for (const name of target === undefined ? TARGETS : [target]) {
  const result = fuzz(engine, name, { seconds, seed, keep });
  const edges = result.edges === undefined ? '' : `, ${result.edges} edges`;
  console.log(
    `${result.passed ? 'ok    ' : 'not ok'}  ${name} (${engine}): ${result.executions} runs in ${seconds} s${edges}`,
  );
  if (!result.passed) {
    console.log(result.text);
    process.exitCode = 1;
  } else if (engine === 'libfuzzer') {
    console.log(
      coverage(name, result.profile) ?? 'no coverage: llvm-profdata or llvm-cov is missing',
    );
  }
}
