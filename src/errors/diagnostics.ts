import { channel } from 'node:diagnostics_channel';
import type { Channel } from 'node:diagnostics_channel';

/**
 * The diagnostics channels of this package, for `node:diagnostics_channel`: what goes wrong, or is
 * worth knowing, and has no stream to be told on. A leaf, so that every room can publish.
 *
 * Messages are objects with the fields of {@link DiagnosticMessage}.
 */
export const DIAGNOSTIC_CHANNELS = [
  /** A leave failed or threw; the membership may be left behind. */
  'rx-ib-multicast:leave-failed',
  /** A provider reported success twice for one join; the second was dropped. */
  'rx-ib-multicast:duplicate-completion',
  /** A provider reported something for a join that had ended; it was dropped. */
  'rx-ib-multicast:late-completion',
  /** An answer of the subnet administrator to a request that had ended. */
  'rx-ib-multicast:late-reply',
  /** A second answer to one request. */
  'rx-ib-multicast:duplicate-reply',
  /** An answer that matches no request. */
  'rx-ib-multicast:foreign-reply',
  /** An answer that was truncated, or not what the request asked for. */
  'rx-ib-multicast:malformed-reply',
  /** A Delete sent for a Set whose outcome is unknown. */
  'rx-ib-multicast:compensating-leave',
  /** A Delete sent for a membership that nobody renewed after a reset. */
  'rx-ib-multicast:stale-leave',
  /** A port event; `reason` says which. */
  'rx-ib-multicast:port-event',
  /** `unregister()` has been waiting for a while; `pending` says what for. */
  'rx-ib-multicast:unregister-waiting',
] as const;

/** The name of a diagnostics channel of this package. */
export type DiagnosticChannel = (typeof DIAGNOSTIC_CHANNELS)[number];

/** What a message on a diagnostics channel can tell. */
export interface DiagnosticMessage {
  /** Name of the provider concerned. */
  provider?: string | undefined;
  device?: string | undefined;
  port?: number | undefined;
  mgid?: string | undefined;
  /** 0, or a Linux errno as it was reported. */
  status?: number | undefined;
  /** MAD status of the subnet administrator, host order. */
  saStatus?: number | undefined;
  reason?: string | undefined;
  /** What is waited for. */
  pending?: string | undefined;
  /** What was thrown. */
  error?: unknown;
  /** How many of these the same join has had, this one included. */
  count?: number | undefined;
}

const channels = new Map<DiagnosticChannel, Channel>(
  DIAGNOSTIC_CHANNELS.map((name) => [name, channel(name)]),
);

/** Publishes on a channel. The message is made only when somebody listens. */
export function publishDiagnostic(name: DiagnosticChannel, message: () => DiagnosticMessage): void {
  const target = channels.get(name);
  if (target?.hasSubscribers === true) target.publish(message());
}
