import { EMPTY, endWith, from, Observable, Subject, switchMap, takeUntil } from 'rxjs';
import type { ObservableInput, OperatorFunction } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import { checkNoSource } from './operator-options.js';
import { shown } from '../errors/shown.js';

/** Follows the last event of a source that completes. */
const END = Symbol('end');

/**
 * Runs an inner stream for exactly as long as the membership stands. Each `joined` starts a new one,
 * `reset` and `error` end it, and so does the end of the source. An inner stream that completes leaves
 * the membership alone. At unsubscription the inner stream ends first, and the group is left then.
 *
 * Errors of the inner stream, and what `project` throws, are errors of the result.
 *
 * @param project Makes the inner stream; receives the `joined` event.
 * @throws TypeError when `project` is no function.
 */
export function whileJoined<E extends MulticastEvent<unknown>, R>(
  project: (joined: Extract<E, { type: 'joined' }>) => ObservableInput<R>,
): OperatorFunction<E, R> {
  checkNoSource('whileJoined', project, 'project');
  if (typeof project !== 'function') {
    throw new TypeError(
      `project is ${shown(project)}; expected a function that makes the inner stream`,
    );
  }
  return (source) =>
    new Observable<R>((subscriber) => {
      const unsubscribed$ = new Subject<void>();
      // Teardown runs in the order of addition, and `switchMap` would end the source first: what
      // sends to the group must not outlive the membership.
      subscriber.add(() => {
        unsubscribed$.next();
      });
      source
        .pipe(
          endWith(END),
          switchMap((event) =>
            event !== END && event.type === 'joined'
              ? from(project(event as Extract<E, { type: 'joined' }>)).pipe(
                  takeUntil(unsubscribed$),
                )
              : EMPTY,
          ),
        )
        .subscribe(subscriber);
    });
}
