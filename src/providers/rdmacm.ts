import { createRequire } from 'node:module';
import type Net from 'node:net';
import { canonicalGid } from '../address/gid.js';
import { parseIpGroup } from '../address/ip-group.js';
import { nativeEnvironment } from '../binding/environment.js';
import type { Environment, PortUse } from '../binding/environment.js';
import type {
  JoinCallback,
  JoinCompletion,
  MulticastHandle,
  MulticastProvider,
  PortInfo,
  PortWish,
  RdmacmOptions,
} from '../contract/provider.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import type { ProviderStats } from '../contract/stats.js';
import { Errno, errnoName } from '../errors/errno.js';
import { failureMessage } from '../errors/failure-message.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import { recordComponentMask } from '../records/component-mask.js';
import type { JoinState, McMemberRecordInit } from '../records/mc-member-record.js';
import { NativeProvider } from './native-provider.js';
import { checkSaPortOptions } from './sa-port-options.js';
import { listPorts } from './select-port.js';
import { shown } from '../errors/shown.js';

/** A provider that joins through the kernel's RDMA connection manager. */
export interface RdmacmProvider extends MulticastProvider {
  /** Every RDMA port, with the IP addresses through which it is reached. */
  ports(): PortInfo[];
  idle(): Promise<void>;
  stats(): ProviderStats;
  /** Waits until all has left, then closes the channels that no other provider uses. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS: readonly string[] = [
  'portSpace',
  'sourceAddress',
  'exitDrainMs',
  'ref',
] satisfies readonly (keyof RdmacmOptions)[];

const PORT_SPACES = ['udp', 'ipoib'] as const;

/** Whether Node takes a text for an IP address. Its module takes three milliseconds to load, and few give an address. */
function isIpAddress(text: string): boolean {
  const { isIP } = createRequire(import.meta.url)('node:net') as typeof Net;
  return isIP(text) !== 0;
}

/** What the kernel can be told of a record; the rest it takes from the group or decides. */
const EXPRESSIBLE: readonly string[] = ['mgid', 'joinState'];
/** Linux-internal: "not supported", never meant for user space, and yet seen there. */
const ENOTSUPP = -524;

type CheckedOptions = { [K in keyof RdmacmOptions]-?: NonNullable<RdmacmOptions[K]> };

function checkOptions(options: RdmacmOptions): CheckedOptions {
  checkKnownOptions(options, OPTIONS, 'rdmacm()');
  const { portSpace = 'udp', sourceAddress, exitDrainMs, ref } = options;
  if (!PORT_SPACES.includes(portSpace)) {
    throw new (typeof portSpace === 'string' ? RangeError : TypeError)(
      `portSpace is ${shown(portSpace)}; expected one of 'udp', 'ipoib'`,
    );
  }
  if (
    sourceAddress !== undefined &&
    (typeof sourceAddress !== 'string' || !isIpAddress(sourceAddress))
  ) {
    throw new TypeError(
      `sourceAddress is ${shown(sourceAddress)}; expected an IPv4 or IPv6 address of this machine, for example '10.0.0.1'`,
    );
  }
  const checked = checkSaPortOptions({
    ...(exitDrainMs === undefined ? {} : { exitDrainMs }),
    ...(ref === undefined ? {} : { ref }),
  });
  return {
    portSpace,
    sourceAddress: sourceAddress ?? '',
    exitDrainMs: checked.exitDrainMs,
    ref: checked.ref,
  };
}

/** An IP address as it is compared: any spelling of it, without the interface of a link-local one. */
function comparable(address: string): string {
  const [text = ''] = address.split('%');
  return text.includes(':') ? canonicalGid(text) : text;
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** Whether the kernel can join the group, or the MGID, through a port as it is now. */
function reaches(info: PortInfo, group: string | undefined): boolean {
  if (info.state !== 'active') return false;
  if (group === undefined) return info.linkLayer !== 'ethernet';
  const { family } = parseIpGroup(group);
  return (info.addresses ?? []).some((address) => familyOf(address) === family);
}

/** Why none of the ports would do for a request; undefined when one of them would. */
export function whyUnreachable(
  ports: readonly PortInfo[],
  wanted: { group?: string | undefined; device?: string | undefined; port?: number | undefined },
): string | undefined {
  const { group, device, port } = wanted;
  const candidates = ports.filter(
    (info) =>
      (device === undefined || info.device === device) &&
      (port === undefined || info.port === port),
  );
  if (candidates.some((info) => reaches(info, group))) return undefined;
  const what =
    group === undefined
      ? 'no active InfiniBand port'
      : `no active port with an IPv${String(parseIpGroup(group).family)} address`;
  return `${what}; ${listPorts(ports)}`;
}

/** What of a record the kernel cannot be told; undefined when it can be told all of it. */
export function whyInexpressible(
  record: Readonly<McMemberRecordInit>,
): { readonly what: string; readonly fields: readonly string[] } | undefined {
  const fields = Object.keys(record).filter((field) => !EXPRESSIBLE.includes(field));
  if (fields.length > 0) {
    return { what: `takes no ${fields.join(', ')}: it decides them itself`, fields };
  }
  const states: readonly JoinState[] = [record.joinState ?? 'full-member'].flat();
  const joinable = states[0] === 'full-member' || states[0] === 'send-only-full-member';
  return states.length === 1 && joinable
    ? undefined
    : {
        what: `joins as 'full-member' or 'send-only-full-member' and not as ${states.join(', ')}`,
        fields: ['joinState'],
      };
}

class Rdmacm extends NativeProvider implements RdmacmProvider {
  readonly name = 'rdmacm';
  readonly #options: CheckedOptions;

  constructor(options: CheckedOptions) {
    super();
    this.#options = options;
  }

  ports(): PortInfo[] {
    return nativeEnvironment().discover('rdmacm');
  }

  protected choosePort(
    ports: readonly PortInfo[],
    request: PortWish,
  ): { device: string; port: number } {
    const { device, port, group } = request;
    const fail = (status: number, what: string): MulticastError =>
      new MulticastError(`${what}; ${listPorts(ports)}`, { status, device, port });
    let candidates = ports.filter(
      (info) =>
        (device === undefined || info.device === device) &&
        (port === undefined || info.port === port),
    );
    if (candidates.length === 0) {
      const wanted = [
        ...(device === undefined ? [] : [`device '${device}'`]),
        ...(port === undefined ? [] : [`port ${String(port)}`]),
      ];
      throw fail(
        Errno.ENODEV,
        wanted.length === 0 ? 'no RDMA device was found' : `there is no ${wanted.join(' with a ')}`,
      );
    }
    const { sourceAddress } = this.#options;
    if (sourceAddress !== '') {
      const wanted = comparable(sourceAddress);
      candidates = candidates.filter(({ addresses = [] }) =>
        addresses.some((address) => comparable(address) === wanted),
      );
      if (candidates.length === 0) {
        throw fail(
          Errno.EADDRNOTAVAIL,
          `the source address ${sourceAddress} is none of the ports asked for`,
        );
      }
    }
    const [first] = candidates;
    const chosen =
      candidates.find((info) => reaches(info, group)) ??
      candidates.find((info) => info.state === 'active') ??
      // A port that was named is taken whatever its state: the kernel gives the answer.
      (device !== undefined && port !== undefined ? first : undefined);
    if (chosen === undefined) {
      throw fail(Errno.EAGAIN, 'no port is active; check the cable and the network device');
    }
    return { device: chosen.device, port: chosen.port };
  }

  joinMulticast(request: ResolvedJoinRequest, callback: JoinCallback): MulticastHandle {
    const { record, group } = request;
    this.#checkExpressible(request);
    const { device, port } = this.placeOf(request);
    return this.openedPort(device, port).join(
      record,
      record.mgid ?? '::',
      request.componentMask,
      (completion) => {
        if (completion.status !== 0) {
          const { mgid } = record;
          completion.message ??= failureMessage(
            { ...completion, device, port, mgid: mgid ?? group },
            kernelAdvice(completion, request, this.#options),
          );
        }
        callback(completion);
      },
      group,
    );
  }

  protected open(environment: Environment, device: string, port: number): PortUse {
    const { ref, ...options } = this.#options;
    return environment.openPort('rdmacm', { ...options, device, port }, false, ref);
  }

  #checkExpressible(request: ResolvedJoinRequest): void {
    const { record, componentMask, device, port } = request;
    const refuse = (what: string, fields: readonly string[]): MulticastError =>
      new MulticastError(
        `the kernel's RDMA CM ${what}; leave that out, or use the umad provider on an InfiniBand port`,
        { status: Errno.EOPNOTSUPP, fields, device, port, mgid: record.mgid },
      );
    const refusal = whyInexpressible(record);
    if (refusal !== undefined) throw refuse(refusal.what, refusal.fields);
    if (componentMask !== recordComponentMask(record)) throw refuse('takes no componentMask', []);
  }
}

/** What to tell the user about a status beyond its own meaning. */
function kernelAdvice(
  { status, cause }: JoinCompletion,
  { group }: ResolvedJoinRequest,
  { portSpace }: CheckedOptions,
): string | undefined {
  const raw = typeof cause === 'number' ? ` (status ${String(cause)})` : '';
  switch (errnoName(status)) {
    case 'EIO':
      return `the kernel says that the join failed${raw}, and not why; check the addresses of the interface`;
    case 'ENETRESET':
      return cause === undefined
        ? undefined
        : `the kernel says that the membership is lost${raw}; join again to go on receiving`;
    case 'EADDRNOTAVAIL':
      return group === undefined
        ? 'the port has no address to join through'
        : `no interface of the port has an IPv${String(parseIpGroup(group).family)} address to join through`;
    case 'EINVAL':
      return portSpace === 'ipoib'
        ? "the kernel refuses the group; port space 'ipoib' is for IPoIB interfaces only, on RoCE use 'udp'"
        : 'the kernel refuses the group';
    case 'ENODEV':
      return 'the device has been removed or renamed; list what there is with `rx-ib-multicast devices`';
    case 'EOPNOTSUPP':
      return group === undefined
        ? "on RoCE groups are joined by IP address: give 'group' instead of record.mgid"
        : 'the device, its subnet manager or this librdmacm has no send-only membership';
    default:
      return status === ENOTSUPP
        ? 'the kernel does not support this kind of group on this port; RoCE v2 over IPv4 takes IPv4 groups'
        : undefined;
  }
}

/**
 * Joins through the kernel's own SA client, by way of the RDMA connection manager (librdmacm). The
 * kernel counts members for the whole host, no privilege is needed, and memberships end with the
 * process. Works on InfiniBand with IPoIB and on RoCE.
 *
 * The kernel takes a group, a source address, a port space and whether the member only sends; a join
 * with other record fields is refused with EOPNOTSUPP.
 *
 * @throws TypeError or RangeError for options that are not as documented. Nothing is opened yet.
 */
export function rdmacm(options: RdmacmOptions = {}): RdmacmProvider {
  return new Rdmacm(checkOptions(options));
}
