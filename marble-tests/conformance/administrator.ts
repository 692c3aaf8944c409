// Two subnet administrators, asked in the same way: one request at a time, from one of the ports
// that the cases know.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startOpensmFabric } from './opensm-fabric.js';
import { gidOfHex, packRequest, unpackAnswer } from './sa-mad.js';
import type { SaAnswer, SaRequest } from './sa-mad.js';
import { elsewhere, MLIDS, PORTS } from './step.js';
import type { PortName } from './step.js';

/** For requests that are answered: only a hang takes so long. */
const ANSWER_MS = 10_000;

const NATIVE_TESTS = fileURLToPath(new URL('../../native/test', import.meta.url));
// A build of its own, since the plain one may be under way at the same time.
export const PEER = join(NATIVE_TESTS, 'build/peer/sa-peer');

/** Compiles native/test/tools/sa_peer.cc, or another tool of that folder, unless it is there. */
export function buildPeer(tool = PEER): void {
  const rooms = ['core', 'codec', 'embedded'];
  const linux = process.platform === 'linux';
  // Only Linux has the rooms of real hardware.
  if (linux) rooms.push('rdma', 'umad');
  const make = [
    'make',
    '-C',
    NATIVE_TESTS,
    '-j2',
    'VARIANT=peer',
    `ROOMS=${rooms.join(' ')}`,
    tool,
  ];
  // Two files of tests may want it at the same time.
  const [command = '', ...args] = linux ? ['flock', NATIVE_TESTS, ...make] : make;
  execFileSync(command, args, { stdio: 'pipe' });
}

/** A process of sa-peer, which has one or several ports. */
class Peer {
  readonly gids: string[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #transactionId = randomInt(2 ** 31);
  #errors = '';

  private constructor(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string) {
    this.#child = spawn(PEER, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(
    args: readonly string[],
    env: NodeJS.ProcessEnv = process.env,
    cwd = tmpdir(),
  ): Promise<Peer> {
    const peer = new Peer(args, env, cwd);
    for (let line = await peer.#line(); line !== 'ready'; line = await peer.#line()) {
      peer.gids.push(gidOfHex(line.split(' ')[3] ?? ''));
    }
    return peer;
  }

  /** `undefined`: no answer came. */
  async ask(port: number, request: SaRequest, timeoutMs: number): Promise<SaAnswer | undefined> {
    this.#transactionId += 1;
    const mad = packRequest(request, this.#transactionId);
    this.#child.stdin.write(`${String(port)} ${String(timeoutMs)} ${mad}\n`);
    const line = await this.#line();
    if (line === 'silence') return undefined;
    if (!/^[0-9a-f]+$/.test(line)) throw new Error(`sa-peer could not send: ${line}`);
    return unpackAnswer(line);
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.end();
    await ended;
  }

  async #line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error(`sa-peer has ended: ${this.#errors}`);
    return next.value;
  }
}

export interface Administrator {
  /**
   * One request and its answer. Names of ports stand for their GIDs, in both. With `silenceMs` no
   * answer is expected, and waited for only so long.
   */
  ask(by: PortName, request: SaRequest, silenceMs?: number): Promise<SaAnswer | undefined>;
  /** How long to wait for an answer that should not come. */
  readonly silenceMs: number;
  close(): Promise<void>;
}

/** Puts the names of ports in the place of their GIDs and back. */
class NamedPorts implements Administrator {
  readonly #gids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly silenceMs: number;
  readonly close: () => Promise<void>;

  constructor(
    private readonly ports: ReadonlyMap<PortName, { peer: Peer; index: number }>,
    gidOf: (name: PortName) => string,
    silenceMs: number,
    close: () => Promise<void>,
  ) {
    this.silenceMs = silenceMs;
    this.close = close;
    for (const name of PORTS) {
      const gid = gidOf(name);
      this.#name(name, gid);
      this.#name(elsewhere(name), gid.replace(/^fe80:/, 'fec0:'));
    }
  }

  async ask(
    by: PortName,
    { record, ...request }: SaRequest,
    silenceMs?: number,
  ): Promise<SaAnswer | undefined> {
    const { peer, index } = this.#at(by);
    const { portGid } = record;
    const named = portGid === undefined ? {} : { portGid: this.#gids.get(portGid) ?? portGid };
    const answer = await peer.ask(
      index,
      { ...request, record: { ...record, ...named } },
      silenceMs ?? ANSWER_MS,
    );
    for (const one of answer?.records ?? []) {
      one.portGid = this.#names.get(one.portGid) ?? one.portGid;
    }
    return answer;
  }

  #name(name: string, gid: string): void {
    this.#gids.set(name, gid);
    this.#names.set(gid, name);
  }

  #at(name: PortName): { peer: Peer; index: number } {
    const port = this.ports.get(name);
    if (port === undefined) throw new Error(`nobody asks on port ${name}`);
    return port;
  }
}

/** The embedded fabric's administrator, under a clock that stands still while nothing is asked. */
export async function embeddedAdministrator(): Promise<Administrator> {
  const rate10 = 3;
  const rate2 = 2;
  const tables: Record<PortName, string> = {
    Sm: `${String(rate10)}:ffff,8001`,
    A: `${String(rate10)}:ffff,8001`,
    B: `${String(rate10)}:ffff,0001`,
    C: `${String(rate10)}:ffff`,
    D: `${String(rate2)}:ffff`,
  };
  const peer = await Peer.start(['embedded', String(MLIDS), ...PORTS.map((name) => tables[name])]);
  const ports = new Map(PORTS.map((name, index) => [name, { peer, index }]));
  // Silence costs nothing here, so the timeout may be that of answers.
  const gidOf = (name: PortName): string => peer.gids[PORTS.indexOf(name)] ?? '';
  return new NamedPorts(ports, gidOf, ANSWER_MS, () => peer.end());
}

/** OpenSM on a simulated fabric of its own, and a process on every host but its own. */
export async function opensmAdministrator(): Promise<Administrator> {
  const opensm = await startOpensmFabric();
  const ports = new Map<PortName, { peer: Peer; index: number }>();
  const close = async (): Promise<void> => {
    await Promise.all([...ports.values()].map(({ peer }) => peer.end()));
    await opensm.stop();
  };
  try {
    for (const name of PORTS) {
      // On OpenSM's own host a second client would take its answers.
      if (name === 'Sm') continue;
      const peer = await Peer.start(['umad'], opensm.env(name), opensm.fabric.directory);
      ports.set(name, { peer, index: 0 });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return new NamedPorts(ports, opensm.gidOf, 300, close);
}
