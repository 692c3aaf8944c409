import { Errno, errnoNumber } from './errno.js';
import { MulticastError } from './multicast-error.js';
import { shown } from './shown.js';

function thrownStatus(thrown: unknown): number {
  if (typeof thrown !== 'object' || thrown === null) return Errno.EIO;
  const { errno, code } = thrown as { errno?: unknown; code?: unknown };
  if (typeof errno !== 'number' || !Number.isInteger(errno) || errno === 0) return Errno.EIO;
  // Elsewhere than on Linux, Node's numbers are not Linux numbers; the name beside them is portable.
  if (process.platform !== 'linux' && typeof code === 'string') return errnoNumber(code) ?? errno;
  return errno;
}

/** What can be read of it; something that throws while it is read is still what was thrown. */
function told(thrown: unknown): { status: number; text: string } {
  try {
    const text = thrown instanceof Error ? thrown.message : shown(thrown);
    return { status: thrownStatus(thrown), text };
  } catch {
    return { status: Errno.EIO, text: shown(thrown) };
  }
}

/**
 * What a provider threw, as a MulticastError: itself if it is one, otherwise wrapped as its `cause`,
 * not retryable, with the thrown `errno` or -EIO.
 */
export function wrapThrown(
  thrown: unknown,
  place: { device?: string | undefined; port?: number | undefined; mgid?: string | undefined },
): MulticastError {
  if (thrown instanceof MulticastError) return thrown;
  const { status, text } = told(thrown);
  return new MulticastError(`the join could not be started: ${text}`, {
    status,
    retryable: false,
    cause: thrown,
    ...place,
  });
}
