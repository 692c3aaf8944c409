import { Option } from 'commander';
import type { Command } from 'commander';
import type { MulticastProvider } from '../contract/provider.js';
import { parseDuration } from './durations.js';
import { portNumber } from './field-value.js';
import { present } from './join-plan.js';
import { PROVIDER_NAMES } from './provider-choice.js';
import type { chooseProvider, ProviderName } from './provider-choice.js';
import type { Terminal } from './terminal.js';

/** Said before anything else, so that nobody takes a simulation for the fabric. */
export const SIMULATION =
  'this is a simulation: the embedded fabric lives in this process, and no InfiniBand fabric is touched';

/** The flags that say where to ask. */
export interface PlaceFlags {
  readonly provider?: ProviderName;
  readonly device?: string;
  readonly port?: number;
  readonly requestTimeout?: number;
  readonly json?: boolean;
}

/** Declares the flags that say where to ask, and `--json`. */
export function declarePlace(command: Command, json: string): Command {
  return command
    .addOption(
      new Option(
        '--provider <name>',
        'umad: the real fabric; embedded: a simulation in this process. The kernel behind rdmacm can only join (default: umad)',
      ).choices(PROVIDER_NAMES.filter((name) => name !== 'rdmacm')),
    )
    .option('--device <name>', 'RDMA device, mlx5_0 for example (default: the first active one)')
    .addOption(
      new Option('--port <number>', 'port, 1 to 255 (default: the first active one)').argParser(
        portNumber,
      ),
    )
    .addOption(
      new Option(
        '--request-timeout <duration>',
        'limit of one SA request, its 3 attempts included (default: 3s)',
      ).argParser((text) => parseDuration(text, { leastMs: 1 })),
    )
    .option('--json', json);
}

/** Where the flags say to ask. */
export interface ChosenPlace {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
}

/** The place that the flags name. */
export function placeOf(
  flags: PlaceFlags,
  terminal: Terminal,
  choose: typeof chooseProvider,
): ChosenPlace {
  if (flags.provider === 'embedded') {
    terminal.note(SIMULATION);
  }
  const wish = present<{ device: string; port: number }>({
    device: flags.device,
    port: flags.port,
  });
  const provider = choose(
    flags.provider,
    wish,
    present({ requestTimeoutMs: flags.requestTimeout, exitDrainMs: 500 }),
  );
  return { provider, ...wish };
}
