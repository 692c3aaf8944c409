import type { PortStats } from '../contract/stats.js';

/** The counters in the order in which the native engine writes them (native/core/completion.h). */
export const PORT_STATS_FIELDS = [
  'joinsStarted',
  'joined',
  'failed',
  'resets',
  'handlesAlive',
  'handlesFreed',
  'groups',
  'saRequests',
  'joinsSent',
  'leavesSent',
  'leavesFailed',
  'compensatingLeaves',
  'staleLeaves',
  'retries',
  'timeouts',
  'sendFailures',
  'audits',
  'outstanding',
  'outstandingPeak',
  'lateReplies',
  'duplicateReplies',
  'foreignReplies',
  'malformedReplies',
  'portEvents',
] as const satisfies readonly (keyof PortStats)[];
