// An initial RAM file system for the guest, written as the kernel reads it: a "newc" cpio archive.
// Written here, because device nodes and foreign owners would otherwise need root or fakeroot.

import {
  closeSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const DIRECTORY = 0o040755;
const FILE = 0o100644;
const PROGRAM = 0o100755;
const SYMLINK = 0o120777;
const CHARACTER_DEVICE = 0o020600;

export class Initramfs {
  #fd;
  #inode = 0;
  #known = new Set(['/']);

  constructor(path) {
    this.#fd = openSync(path, 'w');
  }

  directory(path) {
    if (this.#known.has(path)) return;
    this.directory(dirname(path));
    this.#entry(path, DIRECTORY, Buffer.alloc(0));
  }

  /** A file of the host, under a name of its own. Links are followed. */
  copy(source, path) {
    const real = realpathSync(source);
    const mode = statSync(real).mode & 0o111 ? PROGRAM : FILE;
    this.#add(path, mode, () => readFileSync(real));
  }

  /** A folder of the host; `wanted` is asked about every file by its path in the guest. */
  copyFolder(source, path, wanted = () => true) {
    for (const name of readdirSync(source).sort()) {
      const from = join(source, name);
      const to = join(path, name);
      if (statSync(from).isDirectory()) this.copyFolder(from, to, wanted);
      else if (wanted(to)) this.copy(from, to);
    }
  }

  text(path, text, { executable = false } = {}) {
    this.#add(path, executable ? PROGRAM : FILE, () => Buffer.from(text));
  }

  link(path, target) {
    this.#add(path, SYMLINK, () => Buffer.from(target));
  }

  characterDevice(path, major, minor) {
    this.#add(path, CHARACTER_DEVICE, () => Buffer.alloc(0), [major, minor]);
  }

  close() {
    this.#entry('/TRAILER!!!', 0, Buffer.alloc(0));
    closeSync(this.#fd);
  }

  #add(path, mode, contents, device) {
    if (this.#known.has(path)) return;
    this.directory(dirname(path));
    this.#entry(path, mode, contents(), device);
  }

  #entry(path, mode, contents, [major, minor] = [0, 0]) {
    this.#known.add(path);
    const name = Buffer.from(`${path.slice(1)}\0`);
    const fields = [
      (this.#inode += 1),
      mode,
      0, // owner: root
      0,
      mode === DIRECTORY ? 2 : 1,
      0, // time
      contents.length,
      0, // device of the file itself
      0,
      major,
      minor,
      name.length,
      0, // checksum: not in this variant
    ];
    const head = fields.map((value) => value.toString(16).padStart(8, '0')).join('');
    this.#padded(Buffer.concat([Buffer.from(`070701${head}`), name]));
    this.#padded(contents);
  }

  #padded(bytes) {
    writeSync(this.#fd, bytes);
    const rest = -bytes.length & 3;
    if (rest !== 0) writeSync(this.#fd, Buffer.alloc(rest));
  }
}
