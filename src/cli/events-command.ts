import { firstValueFrom, map, merge, of, tap } from 'rxjs';
import type { GroupEvent } from '../contract/query.js';
import { groupEvents$ } from '../observable/group-events.js';
import { registerSaClient } from '../observable/sa-client.js';
import { elapsedText } from './event-line.js';
import { signalExitCode } from './exit-code.js';
import { leave, leavesFailed, untilEnded } from './leaving.js';
import { placeOf } from './place-flags.js';
import type { PlaceFlags } from './place-flags.js';
import type { chooseProvider } from './provider-choice.js';
import { explain } from './query-command.js';
import type { Terminal } from './terminal.js';

/** The flags of `events`, read and checked. Durations are milliseconds. */
export interface EventsFlags extends PlaceFlags {
  readonly for?: number;
}

function eventLine(event: GroupEvent, elapsedMs: number): string {
  const time = elapsedText(elapsedMs);
  const type = event.type.padEnd('subscribed'.length);
  const detail = 'mgid' in event ? event.mgid : 'reason' in event ? event.reason : '';
  return `${time}  ${type}  ${detail}`.trimEnd();
}

/** Prints group events, and resolves with the exit code once the subscription is ended. */
export async function events(
  flags: EventsFlags,
  terminal: Terminal,
  choose: typeof chooseProvider,
): Promise<number> {
  const start = performance.now();
  const place = placeOf(flags, terminal, choose);
  const { provider } = place;
  const events$ = groupEvents$(registerSaClient(place)).pipe(
    tap((event) => {
      terminal.print(
        flags.json === true ? JSON.stringify(event) : eventLine(event, performance.now() - start),
      );
    }),
  );
  const { ending, failure } = await untilEnded(events$, terminal, flags.for);
  if (failure !== undefined) explain(failure, terminal);
  await leave(provider, ending, leavesFailed(provider), terminal);
  // The first signal decides, also one that came while the subscription was being ended.
  return firstValueFrom(merge(terminal.signals$.pipe(map(signalExitCode)), of(ending.code)));
}
