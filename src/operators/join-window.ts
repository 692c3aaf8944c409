import { concat, defer, EMPTY, finalize, mergeMap, Observable, of } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';
import { currentChain } from '../observable/rejoin-chain.js';

/**
 * Lets a number of joins be in their joining phase at a time. The others wait, in the order in which
 * they were subscribed to.
 */
export class JoinWindow {
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;
  #filling = false;
  #closed = false;

  constructor(size: number) {
    this.#size = size;
  }

  /** Holds the source back until there is room; `joined`, the end and unsubscription give it back. */
  gate<E extends MulticastEvent<unknown>>(source: Observable<E>): Observable<E> {
    return new Observable((subscriber) => {
      // The join may start later, but on behalf of whoever subscribes now.
      const chain = currentChain();
      const begin = (): void => {
        const release = this.#take();
        const passing = source.pipe(
          // Room is made after `joined` was told, or the next join would overtake it.
          mergeMap((event) =>
            event.type === 'joined'
              ? concat(
                  of(event),
                  defer(() => {
                    release();
                    return EMPTY;
                  }),
                )
              : of(event),
          ),
          finalize(release),
        );
        if (chain === undefined) passing.subscribe(subscriber);
        else chain.run(() => passing.subscribe(subscriber));
      };
      this.#waiting.add(begin);
      subscriber.add(() => {
        this.#waiting.delete(begin);
      });
      this.#fill();
    });
  }

  /** Takes a place, and gives the function that returns it, once. */
  #take(): () => void {
    let held = true;
    this.#taken += 1;
    return () => {
      if (!held) return;
      held = false;
      this.#taken -= 1;
      this.#fill();
    };
  }

  /** Frees many places at once: the next in line begin only when `work` is over, if they still wait. */
  hold(work: () => void): void {
    const outermost = !this.#filling;
    this.#filling = true;
    try {
      work();
    } finally {
      if (outermost) this.#filling = false;
    }
    this.#fill();
  }

  /** Nobody in line begins any more. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  #fill(): void {
    // Joins that end at once make room at once; the loop keeps them from piling up on the stack.
    if (this.#filling || this.#closed) return;
    this.#filling = true;
    try {
      for (const begin of this.#waiting) {
        if (this.#taken >= this.#size) break;
        this.#waiting.delete(begin);
        begin();
      }
    } finally {
      this.#filling = false;
    }
  }
}
