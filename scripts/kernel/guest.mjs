// A virtual machine with a real kernel and Soft-RoCE, in which a shell script runs.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Initramfs } from './initramfs.mjs';
import { guestPackages, MODULES } from './packages.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
// (0x10 << 1) | 1: what qemu's debug exit device makes of the byte that the guest writes.
const PASS = 33;

function libraryFolders(folder) {
  return ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu', 'usr/lib', 'lib']
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path));
}

/** Where a package put a program. */
function program(folder, name) {
  const places = ['usr/bin', 'bin', 'usr/sbin', 'sbin'].map((place) => join(folder, place, name));
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`no package of the guest holds ${name}`);
  return found;
}

/** The shared libraries of a program or library, in the guest's one folder for them. */
function copyLibraries(image, folder, binary) {
  const result = spawnSync('ldd', [binary], {
    encoding: 'utf8',
    env: { ...process.env, LD_LIBRARY_PATH: libraryFolders(folder).join(':') },
  });
  for (const line of result.stdout.split('\n')) {
    const found = /(?:=> )?(\/\S+) \(0x/.exec(line);
    if (found === null) continue;
    image.copy(found[1], join('/lib64', basename(found[1])));
  }
  if (/not found/.test(result.stdout)) throw new Error(`libraries are missing: ${result.stdout}`);
}

/** A program with all it needs, at `path` in the guest. */
export function copyProgram(image, folder, binary, path) {
  image.copy(binary, path);
  copyLibraries(image, folder, binary);
}

function copyModules(image, folder) {
  const files = new Map();
  const walk = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name);
      if (entry.isDirectory()) walk(full);
      else files.set(entry.name.replaceAll('-', '_'), full);
    }
  };
  walk(
    existsSync(join(folder, 'lib/modules'))
      ? join(folder, 'lib/modules')
      : join(folder, 'usr/lib/modules'),
  );
  // A kernel that has one of them built in has no file for it.
  const present = MODULES.filter((name) => files.has(`${name}.ko`));
  for (const name of present) image.copy(files.get(`${name}.ko`), `/modules/${name}.ko`);
  image.text('/modules/order', `${present.join('\n')}\n`);
}

function copySystem(image, folder) {
  image.copy(program(folder, 'busybox'), '/bin/busybox');
  image.text('/init', readFileSync(join(HERE, 'init.sh'), 'utf8'), { executable: true });
  image.text('/etc/passwd', 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n');
  // Built into the kernel's own start as well, but that comes too late for its first messages.
  image.characterDevice('/dev/console', 5, 1);
  copyModules(image, folder);
  for (const name of ['ip', 'rdma', 'mckey']) {
    copyProgram(image, folder, program(folder, name), `/opt/bin/${name}`);
  }
  for (const soname of ['librdmacm.so.1', 'libibverbs.so.1']) {
    const path = libraryFolders(folder)
      .map((place) => join(place, soname))
      .find((file) => existsSync(file));
    copyProgram(image, folder, path, `/lib64/${soname}`);
  }
  // Opened by name at run time, so that ldd says nothing of it.
  for (const place of libraryFolders(folder)) {
    const providers = join(place, 'libibverbs');
    if (!existsSync(providers)) continue;
    for (const name of readdirSync(providers).filter((file) => file.startsWith('librxe'))) {
      const file = join(providers, name);
      image.copy(file, `/usr/lib/x86_64-linux-gnu/libibverbs/${name}`);
      copyLibraries(image, folder, file);
    }
  }
  image.text('/etc/libibverbs.d/rxe.driver', 'driver rxe\n');
}

/**
 * Boots the guest and runs `script` in it.
 *
 * @param fill Adds files to the image: `(image, folder)`.
 * @param onLine Gets each line of the console.
 * @returns `missing`: why there is no guest; otherwise `passed` and, if not, `why`.
 */
export async function runGuest({ script, fill, onLine, limitMs, memoryMb = 1024 }) {
  const { missing, folder, cache } = guestPackages();
  if (missing !== undefined) return { missing };
  mkdirSync(cache, { recursive: true });
  const initramfs = join(cache, `initramfs-${process.pid}.cpio`);
  const image = new Initramfs(initramfs);
  copySystem(image, folder);
  fill(image, folder);
  image.text('/run.sh', script);
  image.close();
  try {
    return await boot({ folder, initramfs, onLine, limitMs, memoryMb });
  } finally {
    rmSync(initramfs, { force: true });
  }
}

async function boot({ folder, initramfs, onLine, limitMs, memoryMb }) {
  const kernel = readdirSync(join(folder, 'boot')).find((name) => name.startsWith('vmlinuz-'));
  const machine = spawn(
    program(folder, 'qemu-system-x86_64'),
    [
      ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'max', '-smp', '1'],
      ...['-m', String(memoryMb), '-nodefaults', '-display', 'none', '-serial', 'stdio'],
      ...['-monitor', 'none', '-nic', 'none', '-no-reboot'],
      ...['-L', join(folder, 'usr/share/qemu'), '-L', join(folder, 'usr/share/seabios')],
      ...['-device', 'isa-debug-exit,iobase=0xf4,iosize=4'],
      ...['-kernel', join(folder, 'boot', kernel), '-initrd', initramfs],
      ...['-append', 'console=ttyS0 panic=-1 oops=panic quiet rdinit=/init'],
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, LD_LIBRARY_PATH: libraryFolders(folder).join(':') },
    },
  );
  let hung = false;
  let panic;
  const watchdog = setTimeout(() => {
    hung = true;
    machine.kill('SIGKILL');
  }, limitMs);
  machine.stderr.on('data', (data) => process.stderr.write(data));
  createInterface({ input: machine.stdout }).on('line', (line) => {
    const text = line.replace(/\r$/, '');
    // "quiet" keeps back all but what matters.
    if (/Kernel panic|BUG:|Oops|soft lockup|hung task|blocked for more than/.test(text)) {
      panic ??= text;
    }
    onLine(text);
  });
  const [status, signal] = await new Promise((resolve) => {
    machine.once('error', (error) => resolve([undefined, error.message]));
    machine.once('close', (...ended) => resolve(ended));
  });
  clearTimeout(watchdog);
  if (hung) return { passed: false, why: `the guest hung: no end after ${limitMs / 1000} s` };
  if (panic !== undefined) return { passed: false, why: `the kernel reported: ${panic}` };
  if (status === PASS) return { passed: true };
  return {
    passed: false,
    why: `the guest ended without its pass marker (qemu: ${signal ?? `exit ${status}`})`,
  };
}
