import type { ResetReason } from './reset-reason.js';

/** What a MulticastError can tell. Only `status` is required. */
export interface MulticastErrorDetails {
  /** Exactly as the provider reported it, of either sign. */
  status: number;
  saStatus?: number | undefined;
  fields?: readonly string[] | undefined;
  reason?: ResetReason | undefined;
  /** Default: decided by the code and the reason. */
  retryable?: boolean | undefined;
  device?: string | undefined;
  port?: number | undefined;
  mgid?: string | undefined;
  cause?: unknown;
}
