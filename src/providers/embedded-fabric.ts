import { gidOfWords } from '../address/gid.js';
import { gidWordsOf } from '../binding/gid-words.js';
import { nativeEnvironment } from '../binding/environment.js';
import type { Environment, PortUse } from '../binding/environment.js';
import type { MulticastProvider, PortInfo, SaPortOptions } from '../contract/provider.js';
import type { ProviderStats } from '../contract/stats.js';
import { Errno } from '../errors/errno.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import { joinStatesOf } from '../records/join-states.js';
import type { JoinState } from '../records/mc-member-record.js';
import { checkSaPortOptions, nativePortOptions, SA_PORT_OPTIONS } from './sa-port-options.js';
import type { CheckedSaPortOptions } from './sa-port-options.js';
import type { OpenedPort } from './native-provider.js';
import { SaProvider } from './sa-provider.js';
import { listPorts } from './select-port.js';
import { shown } from '../errors/shown.js';

/** Options of an embedded fabric, and of the SA client on each of its ports. */
export interface EmbeddedFabricOptions extends SaPortOptions {
  /** Ports, one per device: `embedded0`, `embedded1`, ... 1 to 1000. Default 2. */
  ports?: number | undefined;
  /** `'manual'`: time stands still but for `tick()`. Default `'real'`. */
  clock?: 'real' | 'manual' | undefined;
  /** Multicast LIDs, of which the broadcast group takes one. 1 to 16383. Default 1024. */
  mlidPool?: number | undefined;
  /**
   * Groups that may share an MLID once none is left unused. 1 to 1024. Default 1: a group more than
   * there are MLIDs is refused, as OpenSM does.
   */
  groupsPerMlid?: number | undefined;
  /** Milliseconds on the wire, once for a request and once for its answer. Default 0. */
  delayMs?: number | undefined;
  /** Requests that the subnet administrator serves per second. Default 0: no limit. */
  serviceRate?: number | undefined;
  /** Of everything random. Default 1. */
  seed?: number | undefined;
  /** P_Key table of every port. Default `[0xffff]`. */
  pkeys?: readonly number[] | undefined;
  /**
   * Whether an answer may take several packets, as on a real link. Without it one is sent with what
   * fits, as by `libumad2sim`. Default true.
   */
  rmpp?: boolean | undefined;
}

/** Methods of the SA protocol that a control can single out. */
export type SaMethod = 'get' | 'set' | 'delete' | 'get-table';

/** One port's membership of one group, as the subnet administrator has it. */
export interface FabricMember {
  readonly mgid: string;
  readonly portGid: string;
  readonly mlid: number;
  readonly joinState: readonly JoinState[];
}

/** Counters of the simulated subnet administrator and wire; gauges are marked. */
export interface FabricCounters {
  readonly gets: number;
  readonly sets: number;
  readonly getTables: number;
  readonly deletes: number;
  readonly others: number;
  /** Handed to a client, duplicates included. */
  readonly replies: number;
  /** Requests lost on the way. */
  readonly requestsDropped: number;
  /** Requests that the administrator threw away. */
  readonly requestsRefused: number;
  /** Executed, but the answer never arrived. */
  readonly repliesDropped: number;
  readonly duplicates: number;
  /** Gauge: waiting at the administrator. */
  readonly queued: number;
  /** Gauge: on the wire. */
  readonly inFlight: number;
  /** Gauge: requests without an answer yet. */
  readonly outstanding: number;
  readonly outstandingPeak: number;
  /** Gauge. */
  readonly groups: number;
  /** Gauge: one per group and port. */
  readonly members: number;
  /** Gauge: groups for which there is an MLID. */
  readonly freeMlids: number;
}

/** The SA clients of a further process on an embedded fabric. */
export interface EmbeddedClient extends MulticastProvider {
  ports(): PortInfo[];
  idle(): Promise<void>;
  stats(): ProviderStats;
  close(): Promise<void>;
}

/**
 * A simulated fabric in this process: its ports, one subnet administrator held to the answers of
 * OpenSM, and everything that can go wrong between them. As a provider it has one SA client per
 * port. `count` is how often a control takes effect; `Infinity`: until called again with 0.
 */
export interface EmbeddedFabric extends MulticastProvider {
  ports(): PortInfo[];
  idle(): Promise<void>;
  stats(): ProviderStats;
  /** One more set of SA clients on the same ports, as another process on the same host would be. */
  client(options?: SaPortOptions): EmbeddedClient;

  /** Moves a manual clock by milliseconds. What happens meanwhile is delivered before it returns. */
  tick(ms?: number): void;

  /** Probabilities, 0 to 1, that a request is lost on its way, or its answer. */
  setLoss(loss: { request?: number | undefined; reply?: number | undefined }): void;
  /** Milliseconds on the wire, each way. */
  setDelay(ms: number): void;
  /** The next requests are lost before they arrive. */
  dropRequests(count: number, method?: SaMethod): void;
  /** The next requests are executed, but their answers are lost. */
  loseReplies(count: number, method?: SaMethod): void;
  /** Probability that an answer arrives twice. */
  duplicateReplies(probability: number): void;
  /** Probability that an answer is held back for a random part of `windowMs`. */
  reorderReplies(probability: number, windowMs: number): void;

  /** The next requests are answered with this MAD status and not executed. */
  answerWith(saStatus: number, count: number, method?: SaMethod): void;
  /** Requests per second; 0: no limit. */
  setServiceRate(perSecond: number): void;
  /** The subnet manager stops serving; what arrives is executed after `resumeSm()`. */
  silenceSm(): void;
  resumeSm(): void;
  /** The subnet manager dies with all groups and memberships; ports notice nothing. */
  killSm(): void;
  startSm(): void;
  /** Both at once; with `reregister`, the ports are asked to register anew. */
  restartSm(options?: { reregister?: boolean | undefined }): void;
  /** Another subnet manager takes over at this LID, without the groups; the ports are told. */
  takeover(smLid: number): void;

  /** The link of a device goes down; its memberships are forgotten. */
  portDown(device: string): void;
  portUp(device: string): void;
  changeLid(device: string, lid: number): void;
  changeGid(device: string, gid: string): void;
  setPkeys(device: string, pkeys: readonly number[]): void;
  /** The port is asked to register anew; its memberships stand. */
  clientReregister(device: string): void;
  /** For good. */
  removeDevice(device: string): void;

  /** Memberships at the subnet administrator, by MGID and port GID. */
  members(mgid?: string): FabricMember[];
  counters(): FabricCounters;

  /** Waits until all has left, then ends the fabric. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const METHODS: Readonly<Record<SaMethod, number>> = {
  get: 0x01,
  set: 0x02,
  delete: 0x15,
  'get-table': 0x12,
};

/** Controls whose native verb has another name. */
const CONTROLS: ReadonlyMap<string, string & keyof EmbeddedFabric> = new Map([
  ['loss', 'setLoss'],
  ['delay', 'setDelay'],
  ['dropNext', 'dropRequests'],
  ['replyLost', 'loseReplies'],
  ['duplication', 'duplicateReplies'],
  ['reordering', 'reorderReplies'],
  ['forcedStatus', 'answerWith'],
  ['serviceRate', 'setServiceRate'],
  ['silence', 'silenceSm'],
  ['resume', 'resumeSm'],
]);

const FABRIC_OPTIONS = [
  'ports',
  'clock',
  'mlidPool',
  'groupsPerMlid',
  'delayMs',
  'serviceRate',
  'seed',
  'pkeys',
  'rmpp',
] as const satisfies readonly (keyof EmbeddedFabricOptions)[];

const FOREVER = 2 ** 32 - 1;
/** Of a P_Key table: NodeInfo says how many in 16 bits. */
const MOST_PKEYS = 0xffff;

function checkNumber(
  name: string,
  value: number,
  min: number,
  max: number,
  integer: boolean,
): number {
  const accepted = `expected ${integer ? 'an integer' : 'a number'} from ${String(min)} to ${String(max)}`;
  if (typeof value !== 'number') throw new TypeError(`${name} is ${shown(value)}; ${accepted}`);
  if (!(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
    throw new RangeError(`${name} is ${String(value)}; ${accepted}`);
  }
  return value;
}

function checkCount(count: number): number {
  return count === Infinity ? FOREVER : checkNumber('count', count, 0, FOREVER, true);
}

function checkMethod(method: SaMethod | undefined): number {
  if (method === undefined) return 0;
  if (typeof method === 'string' && Object.hasOwn(METHODS, method)) return METHODS[method];
  throw new TypeError(
    `method is ${shown(method)}; expected one of ${Object.keys(METHODS).join(', ')}`,
  );
}

function checkBoolean(name: string, value: boolean): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError(`${name} is ${shown(value)}; expected true or false`);
}

function checkPkeys(given: readonly number[]): readonly number[] {
  if (!Array.isArray(given)) {
    throw new TypeError(`pkeys is ${shown(given)}; expected a list of numbers`);
  }
  if (given.length > MOST_PKEYS) {
    throw new RangeError(
      `pkeys has ${String(given.length)} elements; expected at most ${String(MOST_PKEYS)}`,
    );
  }
  // A copy: what is used is what was checked.
  const pkeys = [...(given as readonly number[])];
  for (const pkey of pkeys) checkNumber('pkeys', pkey, 0, 0xffff, true);
  return pkeys;
}

interface Remains {
  readonly fabric: number;
  /** Ports of the fabric's own clients and of those made by `client()`. */
  readonly opened: Map<string, OpenedPort>[];
}

// Whoever is joined holds its provider, and a client holds its fabric: so what nobody can reach has
// no memberships, but its ports and threads would stay.
const forgotten = new FinalizationRegistry<Remains>(({ fabric, opened }) => {
  for (const ports of opened) for (const { native } of ports.values()) native.close();
  nativeEnvironment().fabric('close', fabric);
});

/** The SA clients of one process on a fabric. */
class Clients extends SaProvider {
  readonly name = 'embedded';

  constructor(
    protected readonly fabric: number,
    private readonly portOptions: CheckedSaPortOptions,
    private readonly manual: boolean,
    private readonly seed: number,
    /** Keeps the fabric as long as somebody uses it. */
    readonly owner: EmbeddedFabric | undefined,
  ) {
    super();
  }

  /** What is open, for whoever closes it once nobody can reach this any more. */
  get openedPorts(): Map<string, OpenedPort> {
    return this.opened;
  }

  ports(): PortInfo[] {
    return nativeEnvironment().discover('embedded', this.fabric);
  }

  protected open(environment: Environment, device: string, port: number): PortUse {
    const index = this.indexOf(device);
    return environment.openPort(
      'embedded',
      {
        ...nativePortOptions(this.portOptions),
        device,
        port,
        fabric: this.fabric,
        index,
        seed: this.seed + index,
      },
      this.manual,
      this.portOptions.ref,
    );
  }

  override forgetPorts(): void {
    super.forgetPorts();
  }

  protected indexOf(device: string): number {
    if (typeof device !== 'string') {
      throw new TypeError(
        `device is ${shown(device)}; expected the name of a device of the fabric, for example 'embedded0'`,
      );
    }
    const index = /^embedded(0|[1-9]\d*)$/.exec(device)?.[1];
    const ports = this.ports();
    if (index === undefined || !ports.some((info) => info.device === device)) {
      throw new MulticastError(`there is no device '${device}'; ${listPorts(ports)}`, {
        status: Errno.ENODEV,
        device,
      });
    }
    return Number(index);
  }
}

class Fabric extends Clients implements EmbeddedFabric {
  readonly #manual: boolean;
  readonly #clients = new Set<Clients>();
  readonly #allOpened = [this.opened];
  #lastSeed: number;
  /** The fabric itself is no more; while it closes its controls still work. */
  #gone = false;

  constructor(fabric: number, options: CheckedSaPortOptions, manual: boolean, seed: number) {
    super(fabric, options, manual, seed, undefined);
    this.#manual = manual;
    this.#lastSeed = seed;
    forgotten.register(this, { fabric, opened: this.#allOpened }, this);
  }

  client(options: SaPortOptions = {}): EmbeddedClient {
    checkKnownOptions(options, SA_PORT_OPTIONS, 'client()');
    this.#lastSeed += 1000;
    const client = new Clients(
      this.fabric,
      checkSaPortOptions(options),
      this.#manual,
      this.#lastSeed,
      this,
    );
    this.#clients.add(client);
    this.#allOpened.push(client.openedPorts);
    return client;
  }

  tick(ms = 0): void {
    if (!this.#manual) {
      throw new TypeError(
        "tick() is for a fabric with clock: 'manual'; this one runs in real time",
      );
    }
    this.#control('tick', checkNumber('ms', ms, 0, 2 ** 40, false));
  }

  setLoss(loss: { request?: number | undefined; reply?: number | undefined }): void {
    checkKnownOptions(loss, ['request', 'reply'], 'setLoss()');
    const { request = 0, reply = 0 } = loss;
    this.#control(
      'loss',
      checkNumber('request', request, 0, 1, false),
      checkNumber('reply', reply, 0, 1, false),
    );
  }

  setDelay(ms: number): void {
    this.#control('delay', checkNumber('ms', ms, 0, 2 ** 31 - 1, false));
  }

  dropRequests(count: number, method?: SaMethod): void {
    this.#control('dropNext', checkCount(count), checkMethod(method));
  }

  loseReplies(count: number, method?: SaMethod): void {
    this.#control('replyLost', checkCount(count), checkMethod(method));
  }

  duplicateReplies(probability: number): void {
    this.#control('duplication', checkNumber('probability', probability, 0, 1, false));
  }

  reorderReplies(probability: number, windowMs: number): void {
    this.#control(
      'reordering',
      checkNumber('probability', probability, 0, 1, false),
      checkNumber('windowMs', windowMs, 0, 2 ** 31 - 1, false),
    );
  }

  answerWith(saStatus: number, count: number, method?: SaMethod): void {
    this.#control(
      'forcedStatus',
      checkNumber('saStatus', saStatus, 0, 0xffff, true),
      checkCount(count),
      checkMethod(method),
    );
  }

  setServiceRate(perSecond: number): void {
    this.#control('serviceRate', checkNumber('perSecond', perSecond, 0, 1e9, false));
  }

  silenceSm(): void {
    this.#control('silence');
  }

  resumeSm(): void {
    this.#control('resume');
  }

  killSm(): void {
    this.#control('killSm');
  }

  startSm(): void {
    this.#control('startSm');
  }

  restartSm(options: { reregister?: boolean | undefined } = {}): void {
    checkKnownOptions(options, ['reregister'], 'restartSm()');
    const { reregister = false } = options;
    if (typeof reregister !== 'boolean') {
      throw new TypeError(`reregister is ${shown(reregister)}; expected true or false`);
    }
    this.#control('restartSm', reregister ? 1 : 0);
  }

  takeover(smLid: number): void {
    this.#control('takeover', checkNumber('smLid', smLid, 1, 0xbfff, true));
  }

  portDown(device: string): void {
    this.#control('portDown', this.#deviceOf('portDown', device));
  }

  portUp(device: string): void {
    this.#control('portUp', this.#deviceOf('portUp', device));
  }

  changeLid(device: string, lid: number): void {
    this.#control(
      'changeLid',
      this.#deviceOf('changeLid', device),
      checkNumber('lid', lid, 1, 0xbfff, true),
    );
  }

  changeGid(device: string, gid: string): void {
    this.#control('changeGid', this.#deviceOf('changeGid', device), ...gidWordsOf(gid));
  }

  setPkeys(device: string, pkeys: readonly number[]): void {
    this.#control('setPkeys', this.#deviceOf('setPkeys', device), ...checkPkeys(pkeys));
  }

  clientReregister(device: string): void {
    this.#control('clientReregister', this.#deviceOf('clientReregister', device));
  }

  removeDevice(device: string): void {
    this.#control('removeDevice', this.#deviceOf('removeDevice', device));
  }

  members(mgid?: string): FabricMember[] {
    const list = this.#control('members') as {
      mgidWords: number[];
      portGidWords: number[];
      mlid: number;
      joinState: number;
    }[];
    const wanted = mgid === undefined ? undefined : gidOfWords(gidWordsOf(mgid));
    return list
      .map((member) => ({
        mgid: gidOfWords(member.mgidWords),
        portGid: gidOfWords(member.portGidWords),
        mlid: member.mlid,
        joinState: joinStatesOf(member.joinState),
      }))
      .filter((member) => wanted === undefined || member.mgid === wanted);
  }

  counters(): FabricCounters {
    return this.#control('counters') as FabricCounters;
  }

  protected override async shutDown(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    if (this.#manual) {
      // Nobody but its owner moves a manual clock, so there is nothing to wait for.
      this.closePorts();
    } else {
      await super.shutDown();
    }
    forgotten.unregister(this);
    this.#control('close');
    this.#gone = true;
  }

  #checkThere(control: string): void {
    if (!this.#gone) return;
    throw new MulticastError('the embedded fabric is closed; make a new one', {
      status: Errno.ESHUTDOWN,
      syscall: control,
    });
  }

  #deviceOf(control: string, device: string): number {
    this.#checkThere(control);
    return this.indexOf(device);
  }

  #control(verb: string, ...numbers: number[]): unknown {
    this.#checkThere(CONTROLS.get(verb) ?? verb);
    this.forgetPorts();
    for (const client of this.#clients) client.forgetPorts();
    return nativeEnvironment().fabric(verb, this.fabric, ...numbers);
  }
}

/**
 * Makes a simulated fabric: no hardware, no privileges, nothing outside this process.
 *
 * @throws TypeError or RangeError for options that are not as documented, MulticastError ENODEV when
 * the native addon cannot be loaded.
 */
export function embeddedFabric(options: EmbeddedFabricOptions = {}): EmbeddedFabric {
  checkKnownOptions(options, [...FABRIC_OPTIONS, ...SA_PORT_OPTIONS], 'embeddedFabric()');
  const portOptions = checkSaPortOptions(options);
  const { clock = 'real', seed = 1, pkeys = [0xffff], ports = 2, rmpp = true } = options;
  const { mlidPool = 1024, groupsPerMlid = 1, delayMs = 0, serviceRate = 0 } = options;
  // From JavaScript anything may come, whatever the type says.
  if (!['real', 'manual'].includes(clock)) {
    throw new TypeError(`clock is ${shown(clock)}; expected 'real' or 'manual'`);
  }
  const fabric = nativeEnvironment().createFabric({
    ports: checkNumber('ports', ports, 1, 1000, true),
    manual: clock === 'manual',
    mlidPool: checkNumber('mlidPool', mlidPool, 1, 0x3fff, true),
    groupsPerMlid: checkNumber('groupsPerMlid', groupsPerMlid, 1, 1024, true),
    delayMs: checkNumber('delayMs', delayMs, 0, 2 ** 31 - 1, false),
    serviceRate: checkNumber('serviceRate', serviceRate, 0, 1e9, false),
    seed: checkNumber('seed', seed, 0, Number.MAX_SAFE_INTEGER, true),
    pkeys: checkPkeys(pkeys),
    rmpp: checkBoolean('rmpp', rmpp),
  });
  return new Fabric(fabric, portOptions, clock === 'manual', seed);
}
