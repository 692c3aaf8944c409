import { Errno, errnoName } from './errno.js';
import type { ResetReason } from './reset-reason.js';
import { saStatusName } from './sa-status.js';

/** What a MulticastError can tell. Only `status` is required. */
export interface MulticastErrorDetails {
  /** Exactly as the provider reported it, of either sign. */
  status: number;
  saStatus?: number | undefined;
  fields?: readonly string[] | undefined;
  /** Default for ENETRESET: `'group-error'`. */
  reason?: ResetReason | undefined;
  /** Default: decided by the code and the reason. */
  retryable?: boolean | undefined;
  device?: string | undefined;
  port?: number | undefined;
  mgid?: string | undefined;
  /** Default `'joinMulticast'`. */
  syscall?: string | undefined;
  cause?: unknown;
}

const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'EAGAIN',
  'EADDRNOTAVAIL',
  'EIO',
  'ENETDOWN',
  'ENETRESET',
]);

/**
 * A join that failed or a membership that was lost. Misuse is a TypeError or a RangeError instead.
 *
 * Public, so that providers can throw it.
 */
export class MulticastError extends Error {
  // Optional fields are declared and not defined, so that an error shows only what is known.

  override readonly name: string = 'MulticastError';
  /** Linux errno name, `'ETIMEDOUT'` for example; `'UNKNOWN'` for a status Linux has no name for. */
  readonly code: string;
  /** Negative, as in Node's system errors. */
  readonly errno: number;
  /** `'joinMulticast'`, or the call that failed where it was another. */
  readonly syscall: string;
  /** Exactly as the provider reported it, of either sign. */
  readonly status: number;
  /** MAD status of the subnet administrator, host order, when it answered. */
  declare readonly saStatus?: number;
  /** The name of `saStatus`, `'INSUFFICIENT_COMPONENTS'` for example. */
  declare readonly saStatusName?: string;
  /** The record fields concerned: missing, or different from the group's. */
  declare readonly fields?: readonly string[];
  /** Why the membership was reset; always there with ENETRESET. */
  declare readonly reason?: ResetReason;
  /**
   * Whether the same join may succeed later. Default: true for ETIMEDOUT, EAGAIN, EADDRNOTAVAIL, EIO,
   * ENETDOWN and ENETRESET, except when the device was removed.
   */
  readonly retryable: boolean;
  /** Joins started in the outage that `rejoinOnReset` gave up. */
  declare attempts?: number;
  /** Milliseconds from the start of that outage to its last failure. */
  declare outageMs?: number;
  declare readonly device?: string;
  declare readonly port?: number;
  declare readonly mgid?: string;

  constructor(message: string, details: MulticastErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const { status, syscall = 'joinMulticast' } = details;
    this.status = status;
    this.syscall = syscall;
    // An error with the status of success, or with none, says that its maker is at fault.
    const valid = Number.isInteger(status) && status !== 0;
    this.errno = valid ? -Math.abs(status) : Errno.EPROTO;
    this.code = errnoName(this.errno);
    if (details.saStatus !== undefined) {
      this.saStatus = details.saStatus;
      this.saStatusName = saStatusName(details.saStatus);
    }
    if (details.fields !== undefined) this.fields = details.fields;
    const reason = details.reason ?? (this.code === 'ENETRESET' ? 'group-error' : undefined);
    if (reason !== undefined) this.reason = reason;
    this.retryable =
      details.retryable ?? (RETRYABLE_CODES.has(this.code) && reason !== 'device-removed');
    if (details.device !== undefined) this.device = details.device;
    if (details.port !== undefined) this.port = details.port;
    if (details.mgid !== undefined) this.mgid = details.mgid;
  }
}

/**
 * An error that tells what a provider has reported. Its stack is its name and message: the frames would all be of this
 * package and of RxJS, and to collect them is half of what the reset of a membership costs.
 */
export function reportedError(message: string, details: MulticastErrorDetails): MulticastError {
  const { stackTraceLimit } = Error;
  // The limit is everybody's and may be read-only; nothing else runs until it is as it was.
  Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return new MulticastError(message, details);
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}
