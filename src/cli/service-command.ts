import { identity, take, tap } from 'rxjs';
import type { ServiceEvent } from '../contract/service-event.js';
import { MulticastError } from '../errors/multicast-error.js';
import { registerService$ } from '../observable/register-service.js';
import type { ServiceRegistration } from '../observable/register-service.js';
import { rejoinOnReset } from '../operators/rejoin-on-reset.js';
import { elapsedText, inFlagWording } from './event-line.js';
import { signalExitCode } from './exit-code.js';
import { present } from './join-plan.js';
import { leave, leavesFailed, untilEnded } from './leaving.js';
import { placeOf } from './place-flags.js';
import type { PlaceFlags } from './place-flags.js';
import { chooseProvider } from './provider-choice.js';
import { explain, recordLine } from './query-command.js';
import type { Terminal } from './terminal.js';

/** The flags of `service register`, read and checked. Durations are milliseconds. */
export interface RegisterFlags extends PlaceFlags {
  readonly name?: string;
  readonly pkey?: number;
  /** Seconds; Infinity: never runs out. */
  readonly lease?: number;
  readonly rejoin?: boolean;
  readonly for?: number;
}

function eventLine(event: ServiceEvent, json: boolean, elapsedMs: number): string {
  const { type, status } = event;
  const time = elapsedText(elapsedMs);
  const id = `0x${(event.request.record.serviceId ?? 0n).toString(16).padStart(16, '0')}`;
  if (event.type === 'joined') {
    const { record } = event;
    return json
      ? recordLine({ type, status, record })
      : `${time}  registered  ${id}  ${record.name}  ${record.serviceGid}`;
  }
  const { code, saStatusName, reason, message } = event.error;
  return json
    ? JSON.stringify({ type, status, code, saStatusName, reason, message })
    : `${time}  ${type.padEnd('registered'.length)}  ${id}  ${inFlagWording(message)}`;
}

/**
 * Registers a service, prints events, and resolves with the exit code once it is deleted.
 *
 * @throws UsageError for flags that do not go together.
 */
export async function registerService(
  serviceId: bigint,
  flags: RegisterFlags,
  terminal: Terminal,
  choose: typeof chooseProvider = chooseProvider,
): Promise<number> {
  const start = performance.now();
  const place = placeOf(flags, terminal, choose);
  const { provider } = place;
  const registration = present<ServiceRegistration>({
    ...place,
    serviceId,
    name: flags.name,
    pkey: flags.pkey,
    leaseSeconds: flags.lease,
  });
  const events$ = registerService$(registration).pipe(
    flags.rejoin === true ? rejoinOnReset() : identity,
    tap((event) => {
      terminal.print(eventLine(event, flags.json === true, performance.now() - start));
    }),
  );
  const { ending, failure } = await untilEnded(events$, terminal, flags.for);
  let { code } = ending;
  const firstSignal = terminal.signals$.pipe(take(1)).subscribe({
    next: (signal) => {
      code = signalExitCode(signal);
    },
    error: (error: unknown) => {
      throw error;
    },
  });
  // A failure stands in the events already; a registration that was wrong in itself is wrong usage.
  if (failure !== undefined && !(failure instanceof MulticastError)) explain(failure, terminal);
  await leave(provider, ending, leavesFailed(provider), terminal);
  firstSignal.unsubscribe();
  return code;
}
