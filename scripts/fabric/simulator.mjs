// A simulated InfiniBand fabric: ibsim holds the nodes, a real OpenSM manages them. Every fabric is
// isolated by its own simulator socket and directories, so several run side by side.
// Processes are ended by the ids they were started with, never by name.

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** ibsim serves ten clients; OpenSM is one, and a query such as saquery another while it runs. */
const CLIENT_LIMIT = 10;
const PACKAGES = {
  ibsim: 'ibsim-utils',
  opensm: 'opensm',
  preload: 'libumad2sim0',
  saquery: 'infiniband-diags',
};

function findProgram(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const directory of directories) {
    if (directory === '') continue;
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Looked for in the next directory.
    }
  }
  return undefined;
}

function findPreload() {
  let roots;
  try {
    // Debian installs it below the multiarch directory, other systems below lib or lib64.
    roots = readdirSync('/usr/lib').map((entry) => join('/usr/lib', entry));
  } catch {
    return undefined;
  }
  return [...roots, '/usr/lib', '/usr/lib64', '/usr/local/lib']
    .map((root) => join(root, 'umad2sim', 'libumad2sim.so'))
    .find((path) => existsSync(path));
}

function findTools() {
  return {
    ibsim: findProgram('ibsim'),
    opensm: findProgram('opensm'),
    preload: findPreload(),
    saquery: findProgram('saquery'),
    setpriv: findProgram('setpriv'),
  };
}

/** Whether a fabric can be started here, and if not, which packages would change that. */
export function fabricAvailable() {
  if (process.platform !== 'linux') {
    return { ok: false, reason: `the simulated fabric needs Linux, this is ${process.platform}` };
  }
  const tools = findTools();
  const missing = ['ibsim', 'opensm', 'preload'].filter((tool) => tools[tool] === undefined);
  if (missing.length === 0) return { ok: true, reason: '' };
  const packages = missing.map((tool) => PACKAGES[tool]).join(' ');
  return {
    ok: false,
    reason: `the simulated fabric needs Debian's ${packages}: apt-get install ${packages} infiniband-diags`,
  };
}

const delay = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function waitFor(condition, timeoutMs, failure) {
  const limit = Date.now() + timeoutMs;
  for (;;) {
    const value = condition();
    if (value) return value;
    if (Date.now() > limit) throw new Error(failure());
    await delay(5);
  }
}

function readText(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function tail(text, lines = 15) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** A child that is ended by its id and whose end can be awaited. */
class Child {
  constructor(program, args, { setpriv, ...options }) {
    // Were this process killed outright, an orphaned ibsim would spin on its closed console; the
    // kernel ends the children instead where setpriv can ask it to.
    // In a session of its own, out of reach of the terminal: Ctrl-C is for the command on the fabric,
    // which then leaves its groups at the simulator and OpenSM.
    const settings = { ...options, detached: true };
    this.process = setpriv
      ? spawn(setpriv, ['--pdeathsig', 'KILL', program, ...args], settings)
      : spawn(program, args, settings);
    this.output = '';
    this.running = true;
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('latin1').on('data', (text) => {
        this.output += text;
        this.onOutput?.();
      });
    }
    this.ended = new Promise((resolve) => {
      const end = (how) => {
        this.running = false;
        resolve(how);
      };
      this.process.once('error', (error) => end(error.message));
      this.process.once('exit', (code, signal) => end(signal ?? code));
    });
  }

  get pid() {
    return this.process.pid;
  }

  signal(name) {
    if (this.running) this.process.kill(name);
  }

  /** Asks politely, insists after two seconds. */
  async end(name = 'SIGTERM') {
    if (!this.running) return;
    this.signal(name);
    // A stopped process does not see SIGTERM before it goes on.
    this.signal('SIGCONT');
    const insist = setTimeout(() => this.signal('SIGKILL'), 2_000);
    await this.ended;
    clearTimeout(insist);
  }
}

// What OpenSM logs as a standby, the second at its verbose level.
const STANDBY = 'Entering STANDBY state';
const POLL_ANSWER = 'smi_rcv_process_get_sm: Detected SM';

/** One OpenSM on one simulated host. It can be started again after it has ended. */
class SubnetManager {
  #fabric;
  #options;
  #child;
  #starts = 0;
  #directory;
  #logPath = '';

  constructor(fabric, host, options) {
    this.#fabric = fabric;
    this.host = host;
    this.#options = options;
    this.#directory = join(fabric.directory, `opensm-${host}`);
  }

  get pid() {
    return this.#child?.running ? this.#child.pid : undefined;
  }

  get running() {
    return this.#child?.running ?? false;
  }

  /** OpenSM's own log since its latest start. */
  log() {
    return readText(this.#logPath);
  }

  /** Resolves once the subnet is up, or, for a standby, once it watches the master. */
  async start({ standby = false } = {}) {
    if (this.running) return;
    const { tools } = this.#fabric;
    const cache = join(this.#directory, 'cache');
    const dumps = join(this.#directory, 'tmp');
    await mkdir(cache, { recursive: true });
    await mkdir(dumps, { recursive: true });
    const configuration = join(this.#directory, 'opensm.conf');
    const settings = Object.entries({ dump_files_dir: dumps, ...this.#options });
    await writeFile(configuration, settings.map(([key, value]) => `${key} ${value}\n`).join(''));
    this.#logPath = join(this.#directory, `opensm-${++this.#starts}.log`);
    // Debug level 2 flushes the log with every line, so that it can be waited for.
    this.#child = new Child(tools.opensm, ['-F', configuration, '-d2', '-f', this.#logPath], {
      setpriv: tools.setpriv,
      cwd: this.#directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...this.#fabric.env(this.host), OSM_CACHE_DIR: cache, OSM_TMP_DIR: dumps },
    });
    const child = this.#child;
    const expected = standby ? STANDBY : 'SUBNET UP';
    await waitFor(
      () => !child.running || this.log().includes(expected),
      20_000,
      () => `opensm on ${this.host} did not report "${expected}":\n${tail(this.log())}`,
    );
    if (!child.running) {
      throw new Error(`opensm on ${this.host} ended:\n${tail(child.output + this.log())}`);
    }
  }

  /** SIGTERM: OpenSM leaves the fabric in order. */
  async stop() {
    await this.#child?.end('SIGTERM');
  }

  /**
   * SIGKILL. The simulator is told to forget the client, which would otherwise keep its slot. A standby
   * that watches this one is waited for first: a poll that died with its master would never be
   * answered in the simulator, and OpenSM's next sweep waits for every answer.
   */
  async kill() {
    const child = this.#child;
    if (!child?.running) return;
    const { pid } = child;
    await this.#fabric.pollsAnswered(this);
    await child.end('SIGKILL');
    await this.#fabric.disconnect(pid);
  }

  /** SIGSTOP: requests stay unanswered, nothing else changes. */
  pause() {
    this.#child?.signal('SIGSTOP');
  }

  resume() {
    this.#child?.signal('SIGCONT');
  }

  /** Ends it at once and starts it anew: all memberships are gone, and no port event tells. */
  async restart() {
    await this.kill();
    await this.start();
  }

  /** Asks for a heavy sweep. */
  sweep() {
    this.#child?.signal('SIGHUP');
  }

  /** Whether it watches a master. */
  get standby() {
    if (!this.running) return false;
    return this.log().lastIndexOf(STANDBY) > this.log().lastIndexOf('Entering DISCOVERING state');
  }

  /** Resolves with the next answer of the master it watches; until its next poll nothing is under way. */
  async pollAnswered() {
    const answers = () => this.log().split(POLL_ANSWER).length;
    const before = answers();
    await waitFor(
      () => answers() > before || !this.standby,
      5_000,
      () => `opensm on ${this.host} got no answer from the master:\n${tail(this.log())}`,
    );
  }

  /** Resolves once this one, started as a standby, has taken the subnet over. */
  async master(timeoutMs = 20_000) {
    await waitFor(
      () => this.log().includes('SUBNET UP'),
      timeoutMs,
      () => `opensm on ${this.host} did not become master:\n${tail(this.log())}`,
    );
  }
}

class SimulatedFabric {
  #console = Promise.resolve('');
  #ibsim;
  #managers = [];
  #stopping;

  constructor(tools, directory, hosts, socketName) {
    this.tools = tools;
    this.directory = directory;
    this.hosts = hosts;
    this.socketName = socketName;
  }

  /** Used by startFabric alone. */
  async boot({ mlids, narrowHosts, opensm, opensmHost, opensmOptions }) {
    const netFile = join(this.directory, 'net');
    await writeFile(netFile, netDescription(this.hosts, narrowHosts));
    const limits = mlids === undefined ? [] : ['-M', String(mlids)];
    this.#ibsim = new Child(this.tools.ibsim, ['-s', ...limits, netFile], {
      setpriv: this.tools.setpriv,
      cwd: this.directory,
      // Its stdin is a console and must stay open: at the end of its input ibsim spins.
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, IBSIM_SOCKNAME: this.socketName },
    });
    this.#ibsim.process.stdin.on('error', () => {});
    await waitFor(
      () => !this.#ibsim.running || this.#ibsim.output.includes('sim> '),
      10_000,
      () => `ibsim did not become ready:\n${tail(this.#ibsim.output)}`,
    );
    if (!this.#ibsim.running) throw new Error(`ibsim ended:\n${tail(this.#ibsim.output)}`);
    this.opensm = new SubnetManager(this, opensmHost, opensmOptions);
    this.#managers.push(this.opensm);
    if (opensm) await this.opensm.start();
  }

  get ibsimPid() {
    return this.#ibsim.pid;
  }

  /** Settles when the simulator has ended, which leaves every client of it hanging. */
  get ended() {
    return this.#ibsim.ended;
  }

  /** The environment of a process that is to live on `host`, on top of this process's own. */
  env(host = this.hosts[1] ?? this.hosts[0]) {
    if (!this.hosts.includes(host)) {
      throw new RangeError(`no host ${host} on this fabric; there are ${this.hosts.join(', ')}`);
    }
    const preloads = process.env.LD_PRELOAD;
    return {
      ...process.env,
      // Behind anything that is there already: a sanitizer has to come first.
      LD_PRELOAD: preloads ? `${preloads}:${this.tools.preload}` : this.tools.preload,
      SIM_HOST: host,
      IBSIM_SOCKNAME: this.socketName,
      RXIB_FABRIC_HOST: host,
      RXIB_FABRIC_HOSTS: this.hosts.join(','),
      RXIB_FABRIC_DIRECTORY: this.directory,
      ...(this.opensm && {
        RXIB_FABRIC_SM_HOST: this.opensm.host,
        ...(this.opensm.pid && { RXIB_FABRIC_SM_PID: String(this.opensm.pid) }),
      }),
    };
  }

  /** Runs one command of ibsim's console, such as `Unlink "Hca2"[1]`, and returns its output. */
  console(command) {
    const run = async () => {
      const ibsim = this.#ibsim;
      if (!ibsim.running) throw new Error('the simulator has ended');
      const before = ibsim.output.length;
      ibsim.process.stdin.write(`${command}\n`);
      await waitFor(
        () => !ibsim.running || ibsim.output.indexOf('sim> ', before) !== -1,
        20_000,
        () => `the simulator did not answer "${command}"`,
      );
      // Warnings about the fabric's traffic may come in between and are no answer.
      const output = ibsim.output
        .slice(before)
        .replace(/sim> /g, '')
        .replace(/^ibwarn: .*\n?/gm, '');
      if (/not found|unknown|bad param/.test(output)) {
        throw new Error(`the simulator refused "${command}": ${output.trim()}`);
      }
      return output;
    };
    // One at a time, since only the order tells which answer belongs to which command.
    const result = this.#console.then(run, run);
    this.#console = result.catch(() => '');
    return result;
  }

  /** Makes the simulator forget the client with this process id. */
  async disconnect(pid) {
    const attached = await this.console('Attached');
    for (const line of attached.split('\n')) {
      const match = /^Client (\d+): pid (\d+) /.exec(line.trim());
      if (match?.[2] === String(pid)) await this.console(`X ${match[1]}`);
    }
  }

  /** The raw output of saquery, run on `host`. */
  async saquery(host, ...args) {
    const { saquery } = this.tools;
    if (saquery === undefined) {
      throw new Error(`saquery is missing: apt-get install ${PACKAGES.saquery}`);
    }
    const { stdout } = await execFileAsync(saquery, args, {
      cwd: this.directory,
      env: this.env(host),
      timeout: 20_000,
    });
    return stdout;
  }

  /** The records of a saquery, one object per record, keys as saquery prints them. */
  async records(host, ...args) {
    return parseRecords(await this.saquery(host, ...args));
  }

  /**
   * Every group OpenSM knows, with its member ports, from OpenSM's own dump. Unlike saquery's
   * tables, of which the simulator passes only the first three records, it is complete.
   */
  async groups() {
    return this.groupsOf(this.opensm);
  }

  /** The same as another manager of this fabric sees it, a former standby for instance. */
  async groupsOf(manager) {
    return await readGroups(manager, join(this.directory, `opensm-${manager.host}`, 'tmp'));
  }

  /** A second OpenSM that takes over when the first one is gone: about two seconds later. */
  async startStandby(host, options = {}) {
    const standby = new SubnetManager(this, host, {
      ...DEFAULT_OPENSM_OPTIONS,
      sminfo_polling_timeout: 500,
      polling_retry_number: 2,
      // Errors, notes, and at the verbose level the answers to its polls.
      log_flags: '0x07',
      ...options,
    });
    this.#managers.push(standby);
    await standby.start({ standby: true });
    return standby;
  }

  /** Resolves once no standby waits for an answer of `master`. */
  async pollsAnswered(master) {
    const standbys = this.#managers.filter((manager) => manager !== master && manager.standby);
    await Promise.all(standbys.map((standby) => standby.pollAnswered()));
  }

  /** Ends every process of the fabric and removes its directory. Idempotent. */
  stop() {
    this.#stopping ??= (async () => {
      await Promise.all(this.#managers.map((manager) => manager.stop()));
      await this.#ibsim?.end('SIGTERM');
      if (!process.env.RXIB_FABRIC_KEEP) await rm(this.directory, { recursive: true, force: true });
    })();
    return this.#stopping;
  }

  async [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    await this.stop();
  }
}

/** One switch with every host on it. */
function netDescription(hosts, narrowHosts) {
  // Width 1 of a link is one lane, and both its ends have to say so; without it, it has four.
  const width = (host) => (narrowHosts.includes(host) ? ' w=1' : '');
  const ports = hosts.map((host, index) => `[${index + 1}]\t"${host}"[1]${width(host)}\n`).join('');
  const cards = hosts.map(
    (host, index) => `Hca\t1 "${host}"\n[1]\t"Switch1"[${index + 1}]${width(host)}\n`,
  );
  return `Switch\t${hosts.length} "Switch1"\n${ports}\n${cards.join('\n')}`;
}

function parseRecords(text) {
  const records = [];
  for (const line of text.split('\n')) {
    if (/dump:\s*$/.test(line)) {
      records.push({});
      continue;
    }
    const match = /^\s+([A-Za-z][\w ]*?)\.{2,}(.*)$/.exec(line);
    if (match && records.length > 0) records[records.length - 1][match[1]] = match[2];
  }
  return records;
}

/** OpenSM writes its dump anew at the end of a sweep, so a sweep is asked for first. */
async function readGroups(manager, directory) {
  if (!manager.running) throw new Error('OpenSM is not running, so nobody knows the groups');
  const path = join(directory, 'opensm-sa.dump');
  const sweeps = () => manager.log().split('SUBNET UP').length;
  const before = sweeps();
  manager.sweep();
  await waitFor(
    () => sweeps() > before,
    10_000,
    () => 'OpenSM did not sweep',
  );
  // The dump follows the sweep, and only when something has changed; it is there once it is still.
  for (let text = readText(path), still = 0; ;) {
    await delay(20);
    const again = readText(path);
    still = again === text ? still + 1 : 0;
    text = again;
    if (still >= 3) return parseGroups(text);
  }
}

function parseGroups(text) {
  const groups = [];
  for (const line of text.split('\n')) {
    const group = /^MC Group (0x[0-9a-f]+) ?(.*?): mgid=0x([0-9a-f]+):0x([0-9a-f]+) (.*)$/.exec(
      line,
    );
    if (group) {
      groups.push({
        mgid: gidText(group[3], group[4]),
        mlid: Number(group[1]),
        wellKnown: group[2].includes('well known'),
        qkey: Number(/ ?qkey=(0x[0-9a-f]+)/.exec(group[5])?.[1] ?? 0),
        pkey: Number(/ ?pkey=(0x[0-9a-f]+)/.exec(group[5])?.[1] ?? 0),
        members: [],
      });
      continue;
    }
    const member = /mcm_port: port_gid=0x([0-9a-f]+):0x([0-9a-f]+) scope_state=0x([0-9a-f]+)/.exec(
      line,
    );
    if (member && groups.length > 0) {
      groups[groups.length - 1].members.push({
        portGid: gidText(member[1], member[2]),
        joinState: Number.parseInt(member[3], 16) & 0xf,
      });
    }
  }
  return groups;
}

/** The canonical text of a GID: RFC 5952, which is what the URL parser writes. */
function gidText(high, low) {
  const digits = high.padStart(16, '0') + low.padStart(16, '0');
  const host = new URL(`http://[${digits.match(/.{4}/g).join(':')}]/`).hostname;
  return host.slice(1, -1);
}

const DEFAULT_OPENSM_OPTIONS = {
  // The dump of the SA's records is how groups() sees everything.
  sa_db_dump: 'TRUE',
};

/** Starts a fabric and resolves once its subnet is up. */
export async function startFabric({
  hosts = 4,
  mlids,
  narrowHosts = [],
  opensm = true,
  opensmHost = 'Hca1',
  opensmOptions = {},
} = {}) {
  const available = fabricAvailable();
  if (!available.ok) throw new Error(available.reason);
  if (!Number.isInteger(hosts) || hosts < 1 || hosts > 32) {
    throw new RangeError(`hosts is ${hosts}, expected 1 to 32 (of which ${CLIENT_LIMIT} attach)`);
  }
  const names = Array.from({ length: hosts }, (_, index) => `Hca${index + 1}`);
  if (!names.includes(opensmHost)) {
    throw new RangeError(`opensmHost is ${opensmHost}, expected one of ${names.join(', ')}`);
  }
  const directory = await mkdtemp(join(tmpdir(), 'rxib-fabric-'));
  const socketName = `rxib-${process.pid}-${randomBytes(4).toString('hex')}`;
  const fabric = new SimulatedFabric(findTools(), directory, names, socketName);
  try {
    await fabric.boot({
      mlids,
      narrowHosts,
      opensm,
      opensmHost,
      opensmOptions: { ...DEFAULT_OPENSM_OPTIONS, ...opensmOptions },
    });
  } catch (error) {
    await fabric.stop();
    throw error;
  }
  return fabric;
}
