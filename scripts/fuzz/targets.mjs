// The fuzz targets: built with libFuzzer where clang has it, else with the driver of this project,
// which replays the corpus and goes on from a seed.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

export const TARGETS = ['mad', 'records', 'port', 'sa_client', 'embedded'];

/** 'libfuzzer' where clang++ has it, else 'driver'. */
export function fuzzEngine() {
  const { status, stdout } = spawnSync('clang++', ['-print-resource-dir'], { encoding: 'utf8' });
  if (status !== 0) return 'driver';
  try {
    const libraries = readdirSync(join(stdout.trim(), 'lib/linux'));
    return libraries.some((name) => name.startsWith('libclang_rt.fuzzer')) ? 'libfuzzer' : 'driver';
  } catch {
    return 'driver';
  }
}

function folder(engine) {
  return join(root, 'native/test/build', `fuzz-${engine}`, 'bin');
}

/** Builds all targets; false, with what the compiler said, when that fails. */
export function buildTargets(engine) {
  const made = spawnSync(
    'make',
    [
      '-C',
      'native/fuzz',
      `-j${availableParallelism()}`,
      '--no-print-directory',
      `ENGINE=${engine}`,
    ],
    { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  if (made.status !== 0) console.log(made.stdout, made.stderr);
  return made.status === 0;
}

/**
 * Fuzzes one target for so many seconds, from its corpus and a seed. New inputs go to a scratch
 * folder, or into the corpus itself with `keep`.
 */
export function fuzz(engine, target, { seconds, seed = 1, keep = false }) {
  const corpus = join(root, 'native/fuzz/corpus', target);
  const artifacts = join(root, 'build/fuzz', target);
  mkdirSync(corpus, { recursive: true });
  mkdirSync(artifacts, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'rx-ib-multicast-fuzz-'));
  const profile = join(artifacts, 'profile.raw');
  try {
    const run = spawnSync(
      join(folder(engine), target),
      [
        ...(keep ? [] : [scratch]),
        corpus,
        `-max_total_time=${seconds}`,
        `-seed=${seed}`,
        '-max_len=2048',
        '-len_control=0',
        '-timeout=30',
        `-artifact_prefix=${artifacts}/`,
        '-print_final_stats=1',
        '-verbosity=1',
      ],
      {
        cwd: root,
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
        env: { ...process.env, LLVM_PROFILE_FILE: profile },
      },
    );
    const text = `${run.stdout}${run.stderr}`;
    const last = /^#\d+\s+DONE\s+cov: (\d+)/m.exec(text);
    const runs = /Done (\d+) (?:runs|in)|stat::number_of_executed_units: *(\d+)/.exec(text);
    return {
      passed: run.status === 0,
      text,
      executions: Number(/number_of_executed_units: *(\d+)/.exec(text)?.[1] ?? runs?.[1] ?? 0),
      edges: last === null ? undefined : Number(last[1]),
      profile,
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Lines of native code reached by the last run of a target, as llvm-cov counts them. */
export function coverage(target, profile) {
  const data = `${profile}.indexed`;
  const merged = spawnSync('llvm-profdata', ['merge', '-sparse', profile, '-o', data]);
  if (merged.status !== 0) return undefined;
  const report = spawnSync(
    'llvm-cov',
    [
      'report',
      join(folder('libfuzzer'), target),
      `-instr-profile=${data}`,
      '-ignore-filename-regex=(/test/|/fuzz/|/usr/)',
    ],
    { cwd: root, encoding: 'utf8' },
  );
  return report.status === 0 ? report.stdout : undefined;
}
