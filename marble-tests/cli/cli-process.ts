import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The compiled command line, which the test runner builds first. */
export const cliProgram = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** How the command line ended. */
export interface CliEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line in a process of its own. */
export class CliProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<CliEnd>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #changed = new Set<() => void>();

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.#child = spawn(process.execPath, [cliProgram, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      for (const look of this.#changed) look();
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
        for (const look of this.#changed) look();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The objects printed with `--json` so far. */
  get events(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Resolves once so many lines have been printed. */
  lines(count: number, timeoutMs = 15_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (act: () => void): void => {
        clearTimeout(timer);
        this.#changed.delete(look);
        act();
      };
      const fail = (why: string): void => {
        finish(() => {
          reject(new Error(`${why} before line ${String(count)}\n${this.stdout}${this.stderr}`));
        });
      };
      const look = (): void => {
        if (this.stdout.split('\n').length > count) finish(resolve);
        else if (this.#child.exitCode !== null || this.#child.signalCode !== null) fail('ended');
      };
      const timer = setTimeout(() => {
        fail('waited in vain');
      }, timeoutMs);
      this.#changed.add(look);
      look();
    });
  }

  /**
   * Resolves once a signal no longer ends the process at once. Linux only. Node itself catches SIGINT
   * and SIGTERM, to restore the terminal, so SIGHUP is the one that tells.
   */
  async handlesSignals(): Promise<void> {
    for (;;) {
      const status = readFileSync(`/proc/${String(this.pid)}/status`, 'latin1');
      const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
      if ((caught >> BigInt(constants.signals.SIGHUP - 1)) & 1n) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Stops reading, as `head` does after its lines. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  /** For the end of a test that may have failed in the middle. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Runs the command line to its end. */
export function runCli(...args: readonly string[]): Promise<CliEnd> {
  return new CliProcess(args).ended;
}
