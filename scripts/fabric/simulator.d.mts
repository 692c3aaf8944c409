/** Settings of an opensm.conf, by their names there. */
export type OpensmOptions = Record<string, string | number>;

export interface FabricOptions {
  /** Hosts on the one switch, named Hca1, Hca2 and so on. Default 4; ten processes can attach. */
  hosts?: number;
  /** Multicast LIDs of the switch (`ibsim -M`). Default: ibsim's own 1024, of which 1023 serve. */
  mlids?: number;
  /** Hosts whose link has one lane, so 2.5 Gb/s where the others have 10. Default none. */
  narrowHosts?: readonly string[];
  /** Whether OpenSM is started at once. Default true. */
  opensm?: boolean;
  /** Where OpenSM lives. Default Hca1. */
  opensmHost?: string;
  opensmOptions?: OpensmOptions;
}

export interface SubnetManager {
  readonly host: string;
  readonly pid: number | undefined;
  readonly running: boolean;
  /** The log since the latest start. */
  log(): string;
  /** Resolves once the subnet is up (a standby: once it watches the master). */
  start(options?: { standby?: boolean }): Promise<void>;
  /** SIGTERM, and resolves at its end. */
  stop(): Promise<void>;
  /** SIGKILL, and resolves once the simulator has forgotten it. */
  kill(): Promise<void>;
  /** SIGSTOP: requests stay unanswered. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** kill() and start(): every membership is gone, and no port event tells. */
  restart(): Promise<void>;
  /** Asks for a heavy sweep. */
  sweep(): void;
  /** Resolves once this standby has taken the subnet over. */
  master(timeoutMs?: number): Promise<void>;
}

export interface FabricGroup {
  /** Canonical text. */
  mgid: string;
  mlid: number;
  /** Made by OpenSM itself: the IPoIB broadcast group. */
  wellKnown: boolean;
  qkey: number;
  pkey: number;
  members: { portGid: string; joinState: number }[];
}

export interface SimulatedFabric extends AsyncDisposable {
  readonly hosts: readonly string[];
  readonly directory: string;
  readonly socketName: string;
  readonly ibsimPid: number;
  /** Settles when the simulator has ended. */
  readonly ended: Promise<unknown>;
  readonly opensm: SubnetManager;
  /** The environment of a process on `host` (default: Hca2), on top of this process's own. */
  env(host?: string): Record<string, string>;
  /**
   * One command of ibsim's console, and its output: `Unlink "Hca2"[1]`, `ReLink "Hca2"[1]`,
   * `Error "Hca2"[1] 100`, `Baselid "Hca2"[1] 77`.
   */
  console(command: string): Promise<string>;
  /** Makes the simulator forget a client that has died without saying so. */
  disconnect(pid: number): Promise<void>;
  /** The raw output of saquery on `host`. */
  saquery(host: string, ...args: string[]): Promise<string>;
  /** The records of a saquery, keys as it prints them. Tables end after three records. */
  records(host: string, ...args: string[]): Promise<Record<string, string>[]>;
  /** Every group with its members, from OpenSM's own dump. */
  groups(): Promise<FabricGroup[]>;
  groupsOf(manager: SubnetManager): Promise<FabricGroup[]>;
  /** Starts a second OpenSM that takes over about two seconds after the first is gone. */
  startStandby(host: string, options?: OpensmOptions): Promise<SubnetManager>;
  /** Ends every process of the fabric and removes its directory. Idempotent. */
  stop(): Promise<void>;
}

/** Whether a fabric can be started here, and if not, what to install. */
export function fabricAvailable(): { ok: boolean; reason: string };

/** Starts a fabric and resolves once its subnet is up. */
export function startFabric(options?: FabricOptions): Promise<SimulatedFabric>;
