import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { JoinRequest } from '../../src/contract/request.js';
import type { SaPortOptions } from '../../src/contract/provider.js';
import type { PortStats } from '../../src/contract/stats.js';
import type { RejoinPolicy } from '../../src/operators/rejoin-on-reset.js';
import type { McMemberRecord } from '../../src/records/mc-member-record.js';

/** What the process says of one of its subscriptions. */
export interface Said {
  id?: string;
  type: string;
  status?: number;
  record?: McMemberRecord;
  mgid?: string;
  reason?: string;
  code?: string;
  saStatusName?: string;
  fields?: string[];
  message?: string;
  worker?: string;
  serial?: number;
  result?: unknown;
  failure?: string;
}

/** How the process ended. */
export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
}

const program = fileURLToPath(new URL('member.mjs', import.meta.url));

/** A process on a simulated host that joins what it is told to join. */
export class MemberProcess {
  readonly said: Said[] = [];
  readonly ended: Promise<End>;
  readonly #child: ChildProcess;
  readonly #changed = new Set<() => void>();
  readonly #words = new Map<string, string[]>();
  #soon: NodeJS.Timeout | undefined;
  #serial = 0;
  #output = '';

  private constructor(env: NodeJS.ProcessEnv) {
    this.#child = fork(program, [], {
      env,
      // The simulator's clients leave their view of the fabric in the working directory.
      cwd: env.RXIB_FABRIC_DIRECTORY,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    }
    this.#child.on('message', (message) => {
      const said = message as Said;
      this.said.push(said);
      if (said.id !== undefined) {
        const words = this.#words.get(said.id) ?? [];
        const { type, mgid, reason, code } = said;
        words.push([type, mgid ?? reason ?? code].filter((word) => word).join(' '));
        this.#words.set(said.id, words);
      }
      // Looking may be dear; after a burst of messages it is done once.
      this.#soon ??= setTimeout(() => {
        this.#soon = undefined;
        for (const look of this.#changed) look();
      }, 2);
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        resolve({ code, signal, output: this.#output });
        for (const look of this.#changed) look();
      });
    });
  }

  static async start(env: NodeJS.ProcessEnv): Promise<MemberProcess> {
    const process = new MemberProcess(env);
    await process.says((said) => said.type === 'ready' && said.worker === undefined);
    return process;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The types, with reasons and codes, of what a subscription has said, in order. */
  words(id: string): readonly string[] {
    return this.#words.get(id) ?? [];
  }

  /** Resolves with the first matching message, said already or still to come. */
  says(matches: (said: Said) => boolean, timeoutMs = 20_000): Promise<Said> {
    return new Promise((resolve, reject) => {
      const finish = (act: () => void): void => {
        clearTimeout(timer);
        this.#changed.delete(look);
        act();
      };
      const timer = setTimeout(() => {
        finish(() => {
          reject(
            new Error(
              `waited in vain; said ${JSON.stringify(this.said.slice(-20))}\n${this.#output}`,
            ),
          );
        });
      }, timeoutMs);
      const look = (): void => {
        const found = this.said.find(matches);
        if (found !== undefined) {
          finish(() => {
            resolve(found);
          });
        } else if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
          finish(() => {
            reject(
              new Error(
                `ended (${String(this.#child.exitCode ?? this.#child.signalCode)}) before saying it\n${this.#output}`,
              ),
            );
          });
        }
      };
      this.#changed.add(look);
      look();
    });
  }

  /** Resolves once the subscription has said all these words in this order, others between them. */
  async sequence(id: string, words: readonly string[], timeoutMs?: number): Promise<void> {
    await this.says(() => {
      let at = 0;
      for (const word of this.words(id)) if (word === words[at]) at += 1;
      return at === words.length;
    }, timeoutMs);
  }

  async command(name: string, details: object = {}): Promise<unknown> {
    const serial = (this.#serial += 1);
    this.send(name, { ...details, serial });
    const done = await this.says((said) => said.type === 'done' && said.serial === serial);
    if (done.failure !== undefined) throw new Error(done.failure);
    return done.result;
  }

  /** As `command`, without waiting for it. */
  send(name: string, details: object = {}): void {
    this.#child.send({ do: name, ...details });
  }

  join(
    id: string,
    request: Omit<JoinRequest, 'provider'>,
    { provider, rejoin }: { provider?: SaPortOptions; rejoin?: RejoinPolicy } = {},
  ): Promise<unknown> {
    return this.command('join', { id, request, provider, rejoin });
  }

  leave(id: string): Promise<unknown> {
    return this.command('leave', { id });
  }

  async stats(provider?: SaPortOptions): Promise<PortStats> {
    return (await this.command('stats', { provider })) as PortStats;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Closes everything and lets the process end by itself. */
  async finish(): Promise<End> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const alive = await this.command('close');
      this.send('disconnect');
      if (alive !== 0) throw new Error(`${String(alive)} handles were not freed`);
    }
    return this.ended;
  }

  /** For the end of a test that may have failed in the middle. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
