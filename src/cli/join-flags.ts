import { Argument, Option } from 'commander';
import type { Command } from 'commander';
import type { JoinState } from '../records/mc-member-record.js';
import { PROBES } from '../providers/sa-port-options.js';
import { parseDuration } from './durations.js';
import { fieldNumber, joinStates, portNumber } from './field-value.js';
import type { NumberField } from './field-value.js';
import { parseGroup } from './group-argument.js';
import { PROVIDER_NAMES } from './provider-choice.js';
import type { ProviderName } from './provider-choice.js';

/** The flags of `join`, read and checked. Durations are milliseconds. */
export interface JoinFlags {
  readonly provider?: ProviderName;
  readonly device?: string;
  readonly port?: number;
  readonly qkey?: number;
  readonly pkey?: number;
  readonly mtu?: number;
  readonly rate?: number;
  readonly sl?: number;
  readonly trafficClass?: number;
  readonly flowLabel?: number;
  readonly joinState?: readonly JoinState[];
  readonly inherit?: boolean;
  readonly joinTimeout?: number;
  readonly requestTimeout?: number;
  readonly auditInterval?: number;
  readonly probe?: (typeof PROBES)[number];
  readonly rejoin?: boolean;
  /** Infinity: no limit. */
  readonly for?: number;
  readonly until?: (typeof EVENT_TYPES)[number];
  readonly json?: boolean;
}

const EVENT_TYPES = ['joined', 'reset', 'error'] as const;

const EXAMPLES = `
Creating a group takes --qkey, --pkey, --sl, --traffic-class and --flow-label, or --inherit; joining
one that exists takes none of them, and those given must match. Numbers are decimal or 0x hex, durations
500ms, 3s, 2m or inf.

Exit codes: 0 ended by --for or --until, 1 the join failed, or was reset without --rejoin, 2 wrong
usage, 130 and 143 after SIGINT and SIGTERM. In every case the group is left first; a second signal
gives up waiting for that.

Examples:
  rx-ib-multicast join ff12:cafe::10 --qkey 0xb1b --pkey 0xffff --sl 0 --traffic-class 0 --flow-label 0
  rx-ib-multicast join 239.1.2.3 --rejoin --json
  rx-ib-multicast join ip:ff02::1234 --join-state send-only-full-member --until joined
  rx-ib-multicast join ff12:cafe::10 --provider embedded --qkey 1 --pkey 0xffff --sl 0 \\
    --traffic-class 0 --flow-label 0 --for 3s`;

/** Declares the argument and the flags of `join`. */
export function declareJoin(command: Command): Command {
  const field = (flags: string, description: string, name: NumberField): Option =>
    new Option(flags, description).argParser((text) => fieldNumber(name, text));
  return command
    .description('Joins a multicast group and stays a member until ended.')
    .addArgument(new Argument('<group>', 'MGID | IPv4 group | ip:IPv6 group').argParser(parseGroup))
    .addOption(
      new Option(
        '--provider <name>',
        'umad: the fabric, through its subnet manager; rdmacm: through the kernel, also RoCE; embedded: a simulation in this process (default: what is usable, never embedded)',
      ).choices(PROVIDER_NAMES),
    )
    .option('--device <name>', 'RDMA device, mlx5_0 for example (default: the first active one)')
    .addOption(
      new Option('--port <number>', 'port, 1 to 255 (default: the first active one)').argParser(
        portNumber,
      ),
    )
    .addOption(field('--qkey <number>', 'Q_Key, 0 to 0xffffffff', 'qkey'))
    .addOption(field('--pkey <number>', 'P_Key, 0 to 0xffff', 'pkey'))
    .addOption(field('--mtu <bytes>', 'exactly 256, 512, 1024, 2048 or 4096', 'mtu'))
    .addOption(field('--rate <gbps>', 'exactly 2.5, 5, 10 ... 1600 Gb/s', 'rate'))
    .addOption(field('--sl <number>', 'service level, 0 to 15', 'sl'))
    .addOption(field('--traffic-class <number>', 'traffic class, 0 to 255', 'trafficClass'))
    .addOption(field('--flow-label <number>', 'flow label, 0 to 0xfffff', 'flowLabel'))
    .addOption(
      new Option(
        '--join-state <states>',
        'full-member, non-member, send-only-non-member, send-only-full-member, or several with commas (default: full-member)',
      ).argParser(joinStates),
    )
    .option(
      '--inherit',
      'take the fields not given from the IPoIB broadcast group of the partition',
    )
    .addOption(
      new Option(
        '--join-timeout <duration>',
        'limit of joining in all; inf: none (default: 15s)',
      ).argParser((text) => parseDuration(text, { infinite: 'no limit' })),
    )
    .addOption(
      new Option(
        '--request-timeout <duration>',
        'limit of one SA request, its 3 attempts included (default: 3s)',
      ).argParser((text) => parseDuration(text, { leastMs: 1 })),
    )
    .addOption(
      new Option(
        '--audit-interval <duration>',
        'time between checks that the subnet manager still knows the membership; 0: none (default: 10s)',
      ).argParser((text) => parseDuration(text, { zero: 'no audit' })),
    )
    .addOption(
      new Option(
        '--probe <when>',
        'ask before the join whether the port is a member already, and leave such a membership in place: for the groups of IP over InfiniBand, always or never (default: ipoib)',
      ).choices(PROBES),
    )
    .option('--rejoin', 'join again after a reset, with a growing delay (1s to 16s)')
    .addOption(
      new Option(
        '--for <duration>',
        'end so long after the start, joined or not (default: inf)',
      ).argParser((text) => parseDuration(text, { zero: 'at once', infinite: 'no end' })),
    )
    .addOption(
      new Option('--until <event>', 'end with the first event of this type').choices(EVENT_TYPES),
    )
    .option('--json', 'one JSON object per event and line')
    .addHelpText('after', EXAMPLES);
}
