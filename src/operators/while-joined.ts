import { EMPTY, endWith, switchMap } from 'rxjs';
import type { ObservableInput, OperatorFunction } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';

/** Follows the last event of a source that completes. */
const END = Symbol('end');

/**
 * Runs an inner stream for exactly as long as the membership stands. Each `joined` starts a new one,
 * `reset` and `error` end it, and so does the end of the source. An inner stream that completes leaves
 * the membership alone.
 *
 * Errors of the inner stream, and what `project` throws, are errors of the result.
 *
 * @param project Makes the inner stream; receives the `joined` event.
 */
export function whileJoined<E extends MulticastEvent<unknown>, R>(
  project: (joined: Extract<E, { type: 'joined' }>) => ObservableInput<R>,
): OperatorFunction<E, R> {
  return (source) =>
    source.pipe(
      endWith(END),
      switchMap((event) =>
        event !== END && event.type === 'joined'
          ? project(event as Extract<E, { type: 'joined' }>)
          : EMPTY,
      ),
    );
}
