import { asyncScheduler, catchError, concat, defer, map, of, startWith, throwError } from 'rxjs';
import type { OperatorFunction, SchedulerLike } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import type { MulticastError } from '../errors/multicast-error.js';
import { checkScheduler } from '../observable/time-options.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { checkOperatorOptions } from './operator-options.js';

interface MembershipSnapshot<C> {
  /** When this state was entered, in milliseconds of the scheduler's clock. */
  readonly since: number;
  /**
   * Joins that failed: until the membership was made, in `member`; since the membership was lost, in
   * `outage`; since the subscription before that.
   */
  readonly attempts: number;
  /** The latest failure, if there was one. */
  readonly lastError?: MulticastError;
  /** The record of the latest membership, if there was one. */
  readonly record?: McMemberRecord;
  /** Of the latest event, if there was one. */
  readonly context?: C;
}

/** Never a member so far. */
export interface JoiningState<C = unknown> extends MembershipSnapshot<C> {
  readonly state: 'joining';
}

/** The membership stands. */
export interface MemberState<C = unknown> extends MembershipSnapshot<C> {
  readonly state: 'member';
  readonly record: McMemberRecord;
  readonly context: C;
}

/** The membership was lost and may come back. */
export interface OutageState<C = unknown> extends MembershipSnapshot<C> {
  readonly state: 'outage';
  readonly record: McMemberRecord;
  readonly lastError: MulticastError;
  readonly context: C;
}

/** The source has failed; the same error follows. */
export interface FailedState<C = unknown> extends MembershipSnapshot<C> {
  readonly state: 'failed';
  /** What the source failed with: a MulticastError, or the bare error of misuse. */
  readonly error: unknown;
}

/** A snapshot of a membership, told apart by `state`. */
export type MembershipState<C = unknown> =
  JoiningState<C> | MemberState<C> | OutageState<C> | FailedState<C>;

/** What the clock of the snapshots is. */
export interface TrackMembershipOptions {
  /** Gives `since`. Default `asyncScheduler`. */
  scheduler?: SchedulerLike | undefined;
}

/**
 * Turns events into a snapshot per change: `joining` at once, `member` when joined, `outage` when a
 * membership is lost, and again for each failed attempt to renew it, `failed` when the source fails,
 * before the error. A failure before the first membership is another `joining`.
 *
 * @throws TypeError for options that are not as documented.
 */
export function trackMembership<E extends MulticastEvent<unknown>>(
  options: TrackMembershipOptions = {},
): OperatorFunction<E, MembershipState<E['context']>> {
  checkOperatorOptions('trackMembership', options, ['scheduler']);
  const scheduler = checkScheduler(options.scheduler, asyncScheduler);
  type State = MembershipState<E['context']>;
  return (source) =>
    defer(() => {
      let state: State = { state: 'joining', since: scheduler.now(), attempts: 0 };
      const since = (name: State['state']): number =>
        state.state === name ? state.since : scheduler.now();
      const onFailure = (lastError: MulticastError, context: E['context']): State => {
        const attempts = state.state === 'member' ? 0 : state.attempts + 1;
        const common = { ...state, attempts, lastError, context };
        return common.record === undefined
          ? { ...common, state: 'joining', since: since('joining') }
          : { ...common, record: common.record, state: 'outage', since: since('outage') };
      };
      return source.pipe(
        map((event): State => {
          const { context } = event;
          state =
            event.type === 'joined'
              ? { ...state, state: 'member', since: scheduler.now(), record: event.record, context }
              : onFailure(event.error, context);
          return state;
        }),
        startWith(state),
        catchError((error: unknown) =>
          concat(
            of<State>({ ...state, state: 'failed', since: scheduler.now(), error }),
            throwError(() => error),
          ),
        ),
      );
    });
}
