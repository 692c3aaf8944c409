import { catchError, EMPTY, endWith, firstValueFrom, ignoreElements, map, merge, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { MulticastError } from '../errors/multicast-error.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import type { InfiniBandPathRecord } from '../records/path-record.js';
import type { ServiceRecord } from '../records/service-record.js';
import { inFlagWording } from './event-line.js';
import { ExitCode, signalExitCode, UsageError } from './exit-code.js';
import { hex } from './numbers.js';
import { alignedTable } from './table.js';
import type { Terminal } from './terminal.js';

/** How records of one kind are shown: a title and a cell per column. */
type Columns<T> = readonly (readonly [title: string, cell: (record: T) => string])[];

/** MTU or rate, or its code where the code means nothing to us. */
function measure(value: number, code: number, unit = ''): string {
  return value > 0 ? `${String(value)}${unit}` : `code ${String(code)}`;
}

/** What can be listed. */
export interface Listings {
  groups: McMemberRecord;
  members: McMemberRecord;
  paths: InfiniBandPathRecord;
  services: ServiceRecord;
}

const COLUMNS: { readonly [K in keyof Listings]: Columns<Listings[K]> } = {
  groups: [
    ['MGID', (one) => one.mgid],
    ['MLID', (one) => hex(one.mlid)],
    ['MTU', (one) => measure(one.mtu, one.mtuCode)],
    ['RATE', (one) => measure(one.rate, one.rateCode, ' Gb/s')],
    ['Q_KEY', (one) => hex(one.qkey)],
    ['P_KEY', (one) => hex(one.pkey, 4)],
    ['SL', (one) => String(one.sl)],
  ],
  members: [
    ['MGID', (one) => one.mgid],
    ['MLID', (one) => hex(one.mlid)],
    ['PORT GID', (one) => one.portGid],
    ['JOIN STATE', (one) => (one.joinState.length === 0 ? '-' : one.joinState.join(','))],
  ],
  paths: [
    ['SGID', (one) => one.sgid],
    ['DGID', (one) => one.dgid],
    ['SLID', (one) => String(one.slid)],
    ['DLID', (one) => String(one.dlid)],
    ['MTU', (one) => measure(one.mtu, one.mtuCode)],
    ['RATE', (one) => measure(one.rate, one.rateCode, ' Gb/s')],
    ['LIFETIME', (one) => String(one.packetLifeTime)],
    ['P_KEY', (one) => hex(one.pkey, 4)],
    ['SL', (one) => String(one.sl)],
  ],
  services: [
    ['SERVICE ID', (one) => `0x${one.serviceId.toString(16).padStart(16, '0')}`],
    ['NAME', (one) => one.name],
    ['GID', (one) => one.serviceGid],
    ['P_KEY', (one) => hex(one.pkey, 4)],
    ['LEASE', (one) => (one.leaseSeconds === Infinity ? 'inf' : `${String(one.leaseSeconds)}s`)],
  ],
};

/** A record as one line of JSON; numbers of 64 bits and bytes in hexadecimal, Infinity as text. */
export function recordLine(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) => {
    if (typeof value === 'bigint') return `0x${value.toString(16)}`;
    if (value === Infinity) return 'inf';
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  });
}

/** Prints what a failed request says, in the words of the command line. */
export function explain(error: unknown, terminal: Terminal): number {
  if (error instanceof MulticastError) {
    terminal.note(inFlagWording(error.message));
    return ExitCode.failed;
  }
  if (error instanceof TypeError || error instanceof RangeError) {
    throw new UsageError(inFlagWording(error.message));
  }
  throw error;
}

/**
 * Asks, prints the records, and resolves with the exit code: a table once all are there, or with
 * `json` a line for each as it comes.
 *
 * @throws UsageError for a query that is not as documented.
 */
export async function printRecords<K extends keyof Listings>(
  records$: Observable<Listings[K]>,
  what: K,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  const columns: Columns<Listings[K]> = COLUMNS[what];
  const rows: string[][] = [];
  let failure: unknown;
  const answered$ = records$.pipe(
    tap((record) => {
      if (json) terminal.print(recordLine(record));
      else rows.push(columns.map(([, cell]) => cell(record)));
    }),
    ignoreElements(),
    catchError((error: unknown) => {
      failure = error;
      return EMPTY;
    }),
    endWith(ExitCode.ended),
  );
  // Whoever ends first unsubscribes from the others, and so ends the question.
  const code: number = await firstValueFrom(
    merge(
      terminal.signals$.pipe(map(signalExitCode)),
      terminal.outputEnd$.pipe(map(() => ExitCode.ended)),
      answered$,
    ),
  );
  if (!json && rows.length > 0) {
    for (const line of alignedTable([columns.map(([title]) => title), ...rows])) {
      terminal.print(line);
    }
  }
  if (!json && rows.length === 0 && failure === undefined && code === ExitCode.ended)
    terminal.print('none');
  return failure === undefined ? code : explain(failure, terminal);
}
