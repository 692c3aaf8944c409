import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { canonicalGid } from '../address/gid.js';
import { canonicalMgid } from '../address/mgid.js';
import { queryGroups$, queryMembers$, queryPath$, queryServices$ } from '../observable/query.js';
import { parseDuration } from './durations.js';
import { events } from './events-command.js';
import type { EventsFlags } from './events-command.js';
import { acceptedForm, fieldNumber } from './field-value.js';
import { present } from './join-plan.js';
import { declarePlace, placeOf } from './place-flags.js';
import type { ChosenPlace, PlaceFlags } from './place-flags.js';
import { chooseProvider } from './provider-choice.js';
import { printRecords } from './query-command.js';
import { registerService } from './service-command.js';
import type { RegisterFlags } from './service-command.js';
import type { Terminal } from './terminal.js';

const EXIT_CODES = `
Exit codes: 0 answered, also with nothing found; 1 the request failed, or there was more than the
transport could carry; 2 wrong usage; 130 and 143 after SIGINT and SIGTERM.`;

const RECORDS_JSON = 'one JSON object per record and line';

function gidArgument(canonical: (text: string) => string): (text: string) => string {
  return (text) => {
    try {
      return canonical(text);
    } catch (error) {
      throw new InvalidArgumentError(`${acceptedForm(error)}.`);
    }
  };
}

/** An integer of 64 bits, decimal or hexadecimal. */
function long(text: string): bigint {
  if (/^(0[xX][0-9a-fA-F]{1,16}|\d{1,20})$/.test(text)) {
    const value = BigInt(text);
    if (value < 2n ** 64n) return value;
  }
  throw new InvalidArgumentError('Expected an integer from 0 to 2^64-1, decimal or 0x hex.');
}

/** A lease in whole seconds, none of 0. */
function lease(text: string): number {
  const seconds = /^[\d.]+(ms|s|m|h)$|^inf$/.test(text)
    ? parseDuration(text, { infinite: 'never runs out' }) / 1000
    : NaN;
  if (seconds !== Infinity && !Number.isInteger(seconds)) {
    throw new InvalidArgumentError('Expected whole seconds, 30s or 5m for example, or inf.');
  }
  return seconds;
}

function endAfter(): Option {
  return new Option('--for <duration>', 'end so long after the start (default: inf)').argParser(
    (text) => parseDuration(text, { zero: 'at once', infinite: 'no end' }),
  );
}

/** Declares `groups`, `members`, `path`, `events` and `service`; each tells its exit code to `ended`. */
export function declareQueries(
  program: Command,
  terminal: Terminal,
  ended: (code: number) => void,
  choose: typeof chooseProvider = chooseProvider,
): Command[] {
  const place = (flags: PlaceFlags): ChosenPlace => placeOf(flags, terminal, choose);
  const service = program
    .command('service')
    .description('Registers services with the subnet administrator, and finds them.');
  return [
    declarePlace(program.command('groups'), RECORDS_JSON)
      .description('Lists the multicast groups of the fabric.')
      .addHelpText('after', EXIT_CODES)
      .action(async (flags: PlaceFlags) => {
        const groups$ = queryGroups$(() => place(flags));
        ended(await printRecords(groups$, 'groups', flags.json === true, terminal));
      }),
    declarePlace(program.command('members'), RECORDS_JSON)
      .description('Lists the members of a group.')
      .addArgument(
        new Argument('<mgid>', 'MGID of the group').argParser(gidArgument(canonicalMgid)),
      )
      .addOption(
        new Option(
          '--sm-key <number>',
          'key of the subnet administrator, which tells members only to those who have it',
        ).argParser(long),
      )
      .addHelpText('after', EXIT_CODES)
      .action(async (mgid: string, flags: PlaceFlags & { smKey?: bigint }) => {
        const members$ = queryMembers$(mgid, () => ({
          ...place(flags),
          ...present({ smKey: flags.smKey }),
        }));
        ended(await printRecords(members$, 'members', flags.json === true, terminal));
      }),
    declarePlace(program.command('path'), RECORDS_JSON)
      .description('Lists the paths from one port to another.')
      .addArgument(new Argument('<sgid>', 'source GID').argParser(gidArgument(canonicalGid)))
      .addArgument(new Argument('<dgid>', 'destination GID').argParser(gidArgument(canonicalGid)))
      .addHelpText('after', EXIT_CODES)
      .action(async (sgid: string, dgid: string, flags: PlaceFlags) => {
        const path$ = queryPath$(() => ({ sgid, dgid, ...place(flags) }));
        ended(await printRecords(path$, 'paths', flags.json === true, terminal));
      }),
    declarePlace(program.command('events'), 'one JSON object per event and line')
      .description('Tells of groups created and deleted until ended.')
      .addOption(endAfter())
      .addHelpText(
        'after',
        `
Exit codes: 0 ended by --for, 1 the subscription failed, another program has the reports of the port
for example, 2 wrong usage, 130 and 143 after SIGINT and SIGTERM.`,
      )
      .action(async (flags: EventsFlags) => {
        ended(await events(flags, terminal, choose));
      }),
    declarePlace(service.command('find'), RECORDS_JSON)
      .description('Lists the services that fit the flags; all of them without any.')
      .addOption(new Option('--service-id <number>', '64 bits, decimal or 0x hex').argParser(long))
      .option('--name <text>', 'at most 64 bytes')
      .addHelpText('after', EXIT_CODES)
      .action(async (flags: PlaceFlags & { serviceId?: bigint; name?: string }) => {
        const services$ = queryServices$(() => ({
          ...place(flags),
          ...present({ serviceId: flags.serviceId, name: flags.name }),
        }));
        ended(await printRecords(services$, 'services', flags.json === true, terminal));
      }),
    declarePlace(service.command('register'), 'one JSON object per event and line')
      .description('Registers a service until ended; its lease is renewed in time.')
      .addArgument(new Argument('<service-id>', '64 bits, decimal or 0x hex').argParser(long))
      .option('--name <text>', 'at most 64 bytes')
      .addOption(
        new Option('--pkey <number>', 'P_Key, 0 to 0xffff (default: 0xffff)').argParser((text) =>
          fieldNumber('pkey', text),
        ),
      )
      .addOption(
        new Option(
          '--lease <duration>',
          'whole seconds; inf: never runs out (default: 300s)',
        ).argParser(lease),
      )
      .option('--rejoin', 'register again after a reset, with a growing delay (1s to 16s)')
      .addOption(endAfter())
      .addHelpText(
        'after',
        `
Exit codes: 0 ended by --for, 1 the registration failed, or was reset without --rejoin, 2 wrong
usage, 130 and 143 after SIGINT and SIGTERM. In every case the service is deleted first.`,
      )
      .action(async (serviceId: bigint, flags: RegisterFlags) => {
        ended(await registerService(serviceId, flags, terminal, choose));
      }),
  ];
}
