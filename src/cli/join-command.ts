import {
  catchError,
  filter,
  firstValueFrom,
  from,
  identity,
  map,
  merge,
  NEVER,
  of,
  skip,
  take,
  tap,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import type { MulticastProvider, SaPortOptions } from '../contract/provider.js';
import type { JoinRequest } from '../contract/request.js';
import { MulticastError } from '../errors/multicast-error.js';
import { joinMulticast$ } from '../observable/join-multicast.js';
import { rejoinOnReset } from '../operators/rejoin-on-reset.js';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import { humanLine, inFlagWording, jsonLine } from './event-line.js';
import { ExitCode, signalExitCode, UsageError } from './exit-code.js';
import { acceptedForm } from './field-value.js';
import type { GroupArgument } from './group-argument.js';
import type { JoinFlags } from './join-flags.js';
import { chooseProvider } from './provider-choice.js';
import type { Terminal } from './terminal.js';

/** Why the command ends, and how long its leave may take. */
interface Ending {
  readonly code: number;
  /** Milliseconds; Infinity: as long as the provider tries. */
  readonly patienceMs: number;
}

const ASKED: Ending = { code: ExitCode.ended, patienceMs: Infinity };
/** What is left to do after a failure is to leave what may have been granted nevertheless. */
const FAILED: Ending = { code: ExitCode.failed, patienceMs: 2_000 };

/**
 * Here the leave is waited for in the open, where a signal can end it; this is for what remains when
 * that was given up.
 */
const EXIT_DRAIN_MS = 500;
const SLOW_LEAVE_MS = 1_000;

/** Omits what is undefined, for types in which absent and undefined differ. */
function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** The options of the provider's port that the flags ask for. */
export function portOptions(flags: JoinFlags): SaPortOptions {
  return present<SaPortOptions>({
    requestTimeoutMs: flags.requestTimeout,
    auditIntervalMs: flags.auditInterval,
    exitDrainMs: EXIT_DRAIN_MS,
  });
}

/** The request that argument and flags ask for. */
export function joinRequest(
  target: GroupArgument,
  flags: JoinFlags,
  provider: MulticastProvider,
): JoinRequest {
  const { qkey, pkey, mtu, rate, sl, trafficClass, flowLabel, joinState } = flags;
  const record: McMemberRecordInit = present<McMemberRecordInit>({
    mgid: 'mgid' in target ? target.mgid : undefined,
    qkey,
    pkey,
    mtu,
    rate,
    sl,
    trafficClass,
    flowLabel,
    joinState,
  });
  return present<JoinRequest>({
    provider,
    device: flags.device,
    port: flags.port,
    record,
    group: 'group' in target ? target.group : undefined,
    joinTimeoutMs: flags.joinTimeout,
  });
}

/**
 * The MGID that the provider maps the group to, before the join: a P_Key without a mapping is wrong
 * usage and no failure, and a failure shall name the MGID.
 */
function mgidOf(request: JoinRequest, provider: MulticastProvider): string | undefined {
  const { group, record } = request;
  if (group === undefined) return record?.mgid;
  try {
    return provider.mapGroup?.(group, present({ pkey: record?.pkey }));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(
      `--pkey ${String(record?.pkey)} is invalid for an IP group. ${acceptedForm(error)}.`,
    );
  }
}

/** How a stream that ended with an error ends the command. */
function endingOf(error: unknown): Ending {
  if (error instanceof MulticastError) return FAILED;
  if (error instanceof TypeError || error instanceof RangeError) {
    throw new UsageError(inFlagWording(error.message));
  }
  throw error;
}

/** Waits until the group is left, until patience runs out, or until a second signal. */
async function leave(
  provider: MulticastProvider,
  ending: Ending,
  terminal: Terminal,
): Promise<void> {
  const gaveUp = 'gave up waiting for the leave to be answered; a membership may be left behind';
  const slow = timer(SLOW_LEAVE_MS).subscribe(() => {
    terminal.note('waiting for the subnet manager to answer the leave; a further signal gives up');
  });
  const left$ = from(provider.idle?.() ?? Promise.resolve()).pipe(map(() => undefined));
  const impatience$ = merge(
    terminal.signals$.pipe(skip(1)),
    ending.patienceMs === Infinity ? NEVER : timer(ending.patienceMs),
  ).pipe(map(() => gaveUp));
  const problem = await firstValueFrom(merge(left$, impatience$));
  slow.unsubscribe();
  if (problem !== undefined) terminal.note(problem);
}

/**
 * Joins, prints events, and resolves with the exit code once the group is left.
 *
 * @throws UsageError for flags that do not go together.
 */
export async function join(
  target: GroupArgument,
  flags: JoinFlags,
  terminal: Terminal,
  choose: typeof chooseProvider = chooseProvider,
): Promise<number> {
  const start = performance.now();
  const provider = choose(
    flags.provider,
    { ...target, ...present({ device: flags.device, port: flags.port }) },
    portOptions(flags),
  );
  const request = joinRequest(target, flags, provider);
  const mgid = mgidOf(request, provider);
  if (flags.provider === 'embedded') {
    terminal.note(
      'this is a simulation: the embedded fabric lives in this process, and no InfiniBand fabric is touched',
    );
  }

  let joined = false;
  const show = (event: MulticastEvent<unknown>): void => {
    joined = event.type === 'joined';
    terminal.print(
      flags.json === true
        ? jsonLine(event, mgid)
        : humanLine(event, mgid, performance.now() - start),
    );
  };
  const events$: Observable<Ending> = joinMulticast$(request).pipe(
    flags.rejoin === true ? rejoinOnReset() : identity,
    tap(show),
    filter((event) => event.type === flags.until),
    // An event that was waited for may be a failure all the same.
    map((event) => (event.type === 'joined' ? ASKED : { ...FAILED, code: ExitCode.ended })),
    catchError((error: unknown) => of(endingOf(error))),
  );
  const limit = flags.for ?? Infinity;
  const time$ =
    limit === Infinity
      ? NEVER
      : timer(limit).pipe(
          tap(() => {
            if (!joined)
              terminal.note(`not a member when --for ran out; nothing is joined any more`);
          }),
          map(() => ASKED),
        );
  const signal$ = terminal.signals$.pipe(map(() => ASKED));
  const outputEnd$ = terminal.outputEnd$.pipe(
    map((error) => {
      if (error !== undefined) terminal.note(`the output failed: ${error.message}`);
      return error === undefined ? ASKED : { ...ASKED, code: ExitCode.failed };
    }),
  );

  // The first ending unsubscribes from the others, and so leaves the group. Signals come first in
  // the list, so that one that arrived before the join keeps it from starting.
  const ending = await firstValueFrom(merge(signal$, outputEnd$, time$, events$));
  let { code } = ending;
  const firstSignal = terminal.signals$.pipe(take(1)).subscribe((signal) => {
    code = signalExitCode(signal);
  });
  await leave(provider, ending, terminal);
  firstSignal.unsubscribe();
  return code;
}
