/** Counters of one port since it was opened. Gauges are marked; the rest only grows. */
export interface PortStats {
  /** Handles made: joins, queries, services and subscriptions. */
  readonly joinsStarted: number;
  /** Completions with status 0. */
  readonly joined: number;
  /** Completions that ended a join before it was joined. */
  readonly failed: number;
  /** ENETRESET completions. */
  readonly resets: number;
  /** Gauge: handles made and not yet freed. */
  readonly handlesAlive: number;
  /** Handles freed. */
  readonly handlesFreed: number;
  /** Gauge: groups the engine keeps track of. */
  readonly groups: number;
  /** MADs sent to the subnet administrator, repeats included. */
  readonly saRequests: number;
  /** Set requests begun. */
  readonly joinsSent: number;
  /** Delete requests begun. */
  readonly leavesSent: number;
  /** Deletes given up. */
  readonly leavesFailed: number;
  /** Of `leavesSent`: for a Set whose outcome is unknown. */
  readonly compensatingLeaves: number;
  /** Of `leavesSent`: for a membership that nobody renewed after a reset. */
  readonly staleLeaves: number;
  /** Repeats of a request. */
  readonly retries: number;
  /** Requests that ended without an answer. */
  readonly timeouts: number;
  /** MADs that could not be sent. */
  readonly sendFailures: number;
  /** Get requests of the membership audit. */
  readonly audits: number;
  /** Gauge: requests in the window. */
  readonly outstanding: number;
  /** Highest value of `outstanding`. */
  readonly outstandingPeak: number;
  /** Answers to requests that had ended. */
  readonly lateReplies: number;
  /** Second answers to one request. */
  readonly duplicateReplies: number;
  /** Answers that match no request. */
  readonly foreignReplies: number;
  /** Answers truncated, or not what the request asked for. */
  readonly malformedReplies: number;
  /** Port events seen. */
  readonly portEvents: number;
  /** Get requests that ask whether the port is a member already. */
  readonly probes: number;
  /** Gauge: groups of which somebody else on the port was a member before, and which are not left. */
  readonly borrowed: number;
}

/** Counters of a provider: the sum over its opened ports, and each port by its own. */
export interface ProviderStats extends PortStats {
  readonly ports: readonly (PortStats & { readonly device: string; readonly port: number })[];
}
