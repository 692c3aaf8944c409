import {
  catchError,
  filter,
  firstValueFrom,
  identity,
  map,
  merge,
  NEVER,
  of,
  tap,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import { MulticastError } from '../errors/multicast-error.js';
import { joinMulticast$ } from '../observable/join-multicast.js';
import { rejoinOnReset } from '../operators/rejoin-on-reset.js';
import { humanLine, inFlagWording, jsonLine } from './event-line.js';
import { ExitCode, signalExitCode, UsageError } from './exit-code.js';
import type { GroupArgument } from './group-argument.js';
import type { JoinFlags } from './join-flags.js';
import { joinRequest, mgidOf, portOptions, present, recordOf } from './join-plan.js';
import { ASKED, FAILED, leave, leavesFailed } from './leaving.js';
import type { Ending } from './leaving.js';
import { SIMULATION } from './place-flags.js';
import { chooseProvider } from './provider-choice.js';
import type { Terminal } from './terminal.js';

/** Misuse of the library is wrong usage here: the values come from the flags. */
function usageOf(error: unknown): unknown {
  return error instanceof TypeError || error instanceof RangeError
    ? new UsageError(inFlagWording(error.message))
    : error;
}

function asUsage<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw usageOf(error);
  }
}

/** How a stream that ended with an error ends the command. */
function endingOf(error: unknown): Ending {
  if (error instanceof MulticastError) return FAILED;
  throw usageOf(error);
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
  const provider = asUsage(() =>
    choose(
      flags.provider,
      {
        ...target,
        ...present({ device: flags.device, port: flags.port }),
        record: recordOf(target, flags),
      },
      portOptions(flags),
    ),
  );
  const request = joinRequest(target, flags, provider);
  const mgid = mgidOf(request, provider);
  if (flags.provider === 'embedded') {
    terminal.note(SIMULATION);
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
            if (joined) return;
            terminal.note('not a member when --for ran out; nothing is joined any more');
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
  let failedBefore = 0;
  const ending = await firstValueFrom(
    merge(signal$, outputEnd$, time$, events$).pipe(
      tap(() => {
        failedBefore = leavesFailed(provider);
      }),
    ),
  );
  await leave(provider, ending, failedBefore, terminal);
  // The first signal decides, also one that came while the group was being left.
  return firstValueFrom(merge(terminal.signals$.pipe(map(signalExitCode)), of(ending.code)));
}
