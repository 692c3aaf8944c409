// The package as users get it: packed, checked, installed where there is no compiler, and used.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from '../setup/run.mjs';
import { documentation } from './documentation.mjs';

/** The first JavaScript program of the README. */
export function readmeProgram() {
  const found = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'));
  if (found === null) throw new Error('README.md has no program');
  return found[1];
}

function which(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (spawnSync('test', ['-x', path]).status === 0) return path;
  }
  throw new Error(`${name} is not on the path`);
}

export function packageLane() {
  const result = { passed: 0, failed: 0, skipped: 0 };
  const directory = mkdtempSync(join(tmpdir(), 'rx-ib-multicast-package-'));
  const check = (name, command, args, options = {}, expected = () => true, status = 0) => {
    const run = spawnSync(command, args, {
      cwd: root,
      encoding: 'utf8',
      timeout: 180_000,
      ...options,
    });
    if (run.status === status && expected(run.stdout)) {
      result.passed += 1;
      console.log(`ok      ${name}`);
      return run.stdout;
    }
    result.failed += 1;
    console.log(`not ok  ${name}\n${run.stdout}${run.stderr}${run.error?.message ?? ''}`);
    return undefined;
  };
  const bin = (name, file) => join(root, 'node_modules', name, file);
  try {
    check('prebuilt binary', process.execPath, [join(root, 'scripts/prebuild.mjs')]);
    const packed = check('npm pack', 'npm', [
      'pack',
      '--json',
      '--ignore-scripts',
      '--pack-destination',
      directory,
    ]);
    if (packed === undefined) return result;
    const listing = JSON.parse(packed);
    // Newer npm versions give an object by package name instead of a list.
    const { filename, files } = Array.isArray(listing) ? listing[0] : Object.values(listing)[0];
    const tarball = join(directory, filename);
    const hasPrebuilt = files.some(({ path }) => path.startsWith('prebuilds/'));
    check('it holds the prebuilt binary', process.execPath, [
      '-e',
      `process.exit(${hasPrebuilt ? 0 : 1})`,
    ]);
    check('publint', process.execPath, [bin('publint', 'src/cli.js'), '--strict', tarball]);
    check('are the types wrong', process.execPath, [
      bin('@arethetypeswrong/cli', 'dist/index.js'),
      tarball,
      '--profile',
      'esm-only',
      '--no-emoji',
    ]);

    const project = join(directory, 'project');
    const tools = join(directory, 'tools');
    mkdirSync(project);
    mkdirSync(tools);
    for (const name of ['node', 'npm', 'sh', 'env', 'uname', 'sed', 'dirname']) {
      symlinkSync(which(name), join(tools, name));
    }
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
    writeFileSync(join(project, 'program.js'), readmeProgram());
    const bare = { cwd: project, env: { ...process.env, PATH: tools, npm_config_nodedir: '' } };
    check(
      'npm install without a compiler',
      join(tools, 'npm'),
      ['install', '--no-audit', '--no-fund', tarball, 'rxjs@7'],
      bare,
    );
    check('the program of the README', process.execPath, ['program.js'], bare, (output) =>
      /joined/.test(output),
    );
    check(
      'the command line',
      join(project, 'node_modules/.bin/rx-ib-multicast'),
      ['--version'],
      bare,
      (output) => output.trim() === JSON.parse(readFileSync(join(root, 'package.json'))).version,
    );
    check(
      'import alone loads no addon',
      process.execPath,
      [
        '--input-type=module',
        '-e',
        "await import('rx-ib-multicast'); await import('rx-ib-multicast/testing');" +
          "const maps = (await import('node:fs')).readFileSync('/proc/self/maps', 'utf8');" +
          "process.exit(maps.includes('rx-ib-multicast.') ? 1 : 0)",
      ],
      bare,
    );

    for (const { page, files } of documentation()) {
      const cwd = join(project, page.replaceAll('/', '-'));
      mkdirSync(cwd);
      for (const { name, text } of files) writeFileSync(join(cwd, name), text);
      for (const { name } of files.filter((file) => file.name.startsWith('program-'))) {
        check(`${page}, ${name}`, process.execPath, [name], { ...bare, cwd });
      }
      const tests = files.map(({ name }) => name).filter((name) => name.endsWith('.test.js'));
      if (tests.length === 0) continue;
      check(`${page}, its tests`, process.execPath, ['--test', ...tests], { ...bare, cwd });
      // The guide promises a readable failure.
      const { name, text } = files.find((file) => file.text.includes('r 999ms t'));
      writeFileSync(join(cwd, name), text.replace('r 999ms t', 'r 1999ms t'));
      const diagrams = /expected +--j-.*\n.*actual +--j-/;
      check(
        `${page}, a wrong expectation`,
        process.execPath,
        ['--test', name],
        { ...bare, cwd },
        (output) => diagrams.test(output),
        1,
      );
    }
    return result;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
