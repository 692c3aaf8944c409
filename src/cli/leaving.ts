import {
  catchError,
  firstValueFrom,
  from,
  ignoreElements,
  map,
  merge,
  NEVER,
  of,
  skip,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type { MulticastProvider } from '../contract/provider.js';
import { ExitCode } from './exit-code.js';
import type { Terminal } from './terminal.js';

/** Why the command ends, and how long its leave may take. */
export interface Ending {
  readonly code: number;
  /** Milliseconds; Infinity: as long as the provider tries. */
  readonly patienceMs: number;
}

export const ASKED: Ending = { code: ExitCode.ended, patienceMs: Infinity };
/** What is left to do after a failure is to leave what may have been granted nevertheless. */
export const FAILED: Ending = { code: ExitCode.failed, patienceMs: 2_000 };

const SLOW_LEAVE_MS = 1_000;
const MAY_REMAIN = 'a membership may be left behind';

/**
 * Subscribes to a stream until it fails, the time is over, or a signal or the end of the output asks
 * for the end.
 *
 * @param limitMs Default: no limit.
 * @returns `failure` is what the stream failed with, if it did.
 */
export async function untilEnded(
  events$: Observable<unknown>,
  terminal: Terminal,
  limitMs = Infinity,
): Promise<{ ending: Ending; failure: unknown }> {
  let failure: unknown;
  const failed$ = events$.pipe(
    ignoreElements(),
    catchError((error: unknown) => {
      failure = error;
      return of(FAILED);
    }),
  );
  const ending = await firstValueFrom(
    merge(
      terminal.signals$.pipe(map(() => ASKED)),
      terminal.outputEnd$.pipe(map(() => ASKED)),
      limitMs === Infinity ? NEVER : timer(limitMs).pipe(map(() => ASKED)),
      failed$,
    ),
  );
  return { ending, failure };
}

/** Leaves that the provider has given up so far. */
export function leavesFailed(provider: MulticastProvider): number {
  return provider.stats?.().leavesFailed ?? 0;
}

/**
 * Waits until the group is left, until patience runs out, or until a second signal.
 *
 * @param failedBefore `leavesFailed()` before the handle was freed.
 */
export async function leave(
  provider: MulticastProvider,
  ending: Ending,
  failedBefore: number,
  terminal: Terminal,
): Promise<void> {
  const gaveUp = `gave up waiting for the leave to be answered; ${MAY_REMAIN}`;
  const slow = setTimeout(() => {
    terminal.note('waiting for the subnet manager to answer the leave; a second signal gives up');
  }, SLOW_LEAVE_MS);
  const left$ = from(provider.idle?.() ?? Promise.resolve()).pipe(map(() => undefined));
  const impatience$ = merge(
    terminal.signals$.pipe(skip(1)),
    ending.patienceMs === Infinity ? NEVER : timer(ending.patienceMs),
  ).pipe(map(() => gaveUp));
  const problem = await firstValueFrom(merge(left$, impatience$));
  clearTimeout(slow);
  if (problem !== undefined) {
    terminal.note(problem);
  } else if (leavesFailed(provider) > failedBefore) {
    terminal.note(`the subnet manager did not take the leave; ${MAY_REMAIN}`);
  }
}
