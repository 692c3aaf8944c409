import { constants } from 'node:os';

/** What the command line tells its caller. After a signal it is 128 plus the signal's number. */
export const ExitCode = {
  /** Ended as asked. */
  ended: 0,
  /** The join failed, or was reset and not to be renewed. */
  failed: 1,
  /** Wrong usage; nothing was joined. */
  usage: 2,
} as const;

/** The exit code after a signal, as shells give it: 130 for SIGINT, 143 for SIGTERM. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Wrong usage that shows only once several flags are looked at together. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
