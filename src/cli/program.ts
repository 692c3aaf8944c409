import { createRequire } from 'node:module';
import { Command, CommanderError, Option } from 'commander';
import { devices } from './devices-command.js';
import type { DevicesFlags } from './devices-command.js';
import { ExitCode, UsageError } from './exit-code.js';
import type { GroupArgument } from './group-argument.js';
import { join } from './join-command.js';
import { declareJoin } from './join-flags.js';
import type { JoinFlags } from './join-flags.js';
import { declareQueries } from './query-flags.js';
import { PROVIDER_NAMES } from './provider-choice.js';
import type { ProcessTerminal } from './terminal.js';

function packageVersion(): string {
  const require = createRequire(import.meta.url);
  return (require('../../package.json') as { version: string }).version;
}

/** After an unknown flag, the known ones. */
function acceptedFlags(command: Command): string {
  const flags = command.options.map((option) => option.flags);
  return `Expected ${[...flags, '--help'].join(', ')}.`;
}

/** Runs the command line and resolves with its exit code. */
export async function run(args: readonly string[], terminal: ProcessTerminal): Promise<number> {
  let code: number = ExitCode.ended;
  // The command whose arguments are being read: its flags are the ones to name.
  const commands: Command[] = [];
  const program = new Command('rx-ib-multicast')
    .description('InfiniBand multicast memberships, and questions to the fabric.')
    .version(packageVersion(), '--version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        terminal.write(text);
      },
      writeErr: (text) => {
        terminal.writeNote(text);
      },
    })
    .addHelpText('after', '\nMore: rx-ib-multicast <command> --help');
  commands.push(
    program
      .command('devices')
      .description('Lists RDMA ports, and which providers are usable, or why not.')
      .addOption(
        new Option(
          '--provider <name>',
          'whose ports to list (default: umad, or rdmacm where umad cannot be used)',
        ).choices(PROVIDER_NAMES),
      )
      .option('--json', 'one JSON object: devices, capabilities')
      .action((flags: DevicesFlags) => {
        code = devices(flags, terminal);
      }),
    declareJoin(program.command('join')).action(async (target: GroupArgument, flags: JoinFlags) => {
      code = await join(target, flags, terminal);
    }),
    ...declareQueries(program, terminal, (ended) => {
      code = ended;
    }),
  );
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.writeNote(`error: ${error.message}\n`);
      return ExitCode.usage;
    }
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ExitCode.ended;
    if (error.code === 'commander.unknownOption') {
      const command = commands.find((one) => args.includes(one.name())) ?? program;
      terminal.writeNote(`${acceptedFlags(command)}\n`);
    }
    return ExitCode.usage;
  }
}
