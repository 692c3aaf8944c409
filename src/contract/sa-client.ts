import type { McMemberRecord } from '../records/mc-member-record.js';
import type { MulticastProvider } from './provider.js';

/** Scopes joins and queries to one provider and port; made by `registerSaClient()`. */
export interface SaClient {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  /** True until `unregister()` is called. */
  readonly registered: boolean;
  /**
   * Refuses new work from now on; resolves when everything begun through it is over and every
   * membership has left. What it waits for is told on the diagnostics channel
   * `rx-ib-multicast:unregister-waiting` after 5 seconds.
   *
   * @param options.timeoutMs Milliseconds after which the promise of this call is rejected with a
   * MulticastError ETIMEDOUT that says what is still waited for; another call waits on. Default
   * Infinity; 0 looks once.
   */
  unregister(options?: { timeoutMs?: number }): Promise<void>;
  /** `unregister()`, without a limit. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * The record of a group that this process is a member of on the client's port, whoever joined it.
   *
   * @throws MulticastError EADDRNOTAVAIL when it is no member, EOPNOTSUPP when the provider keeps no
   * records; TypeError or RangeError for what is no MGID.
   */
  mcMemberRecord(mgid: string): McMemberRecord;
}
