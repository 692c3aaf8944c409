import { Observable } from 'rxjs';
import type { Observer, SubjectLike, Subscriber, Unsubscribable } from 'rxjs';
import type { MulticastEvent } from '../contract/event.js';

interface Notice<E> {
  readonly event: E | undefined;
  readonly tell: (observer: Observer<E>) => void;
}

/**
 * Passes events to many, and the current `joined` to those who come late.
 *
 * What a subscriber provokes while it is being told something is told to all of them afterwards:
 * otherwise a reset from within a `joined` handler would reach the others before their `joined`.
 */
export class MembershipSubject<E extends MulticastEvent<unknown>> implements SubjectLike<E> {
  readonly #observers = new Set<Subscriber<E>>();
  readonly #pending: Notice<E>[] = [];
  #telling = false;
  /** The `joined` event that stands; not one of a membership that is known to be lost. */
  #current: E | undefined;
  /** Set once the end has been told. */
  #end: ((observer: Observer<E>) => void) | undefined;

  readonly #stream = new Observable<E>((subscriber) => {
    if (this.#end !== undefined) {
      this.#end(subscriber);
      return undefined;
    }
    this.#observers.add(subscriber);
    if (this.#current !== undefined) subscriber.next(this.#current);
    return () => {
      this.#observers.delete(subscriber);
    };
  });

  /** Whether the end has been told. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  subscribe(observer: Partial<Observer<E>>): Unsubscribable {
    return this.#stream.subscribe(observer);
  }

  next(event: E): void {
    this.#tellAll({
      event,
      tell: (observer) => {
        observer.next(event);
      },
    });
  }

  error(error: unknown): void {
    this.#tellAll({
      event: undefined,
      tell: (observer) => {
        observer.error(error);
      },
    });
  }

  complete(): void {
    this.#tellAll({
      event: undefined,
      tell: (observer) => {
        observer.complete();
      },
    });
  }

  #tellAll(notice: Notice<E>): void {
    if (notice.event?.type !== 'joined') this.#current = undefined;
    this.#pending.push(notice);
    if (this.#telling) return;
    this.#telling = true;
    try {
      for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
        this.#tellOne(next);
      }
    } finally {
      this.#telling = false;
    }
  }

  #tellOne({ event, tell }: Notice<E>): void {
    if (event === undefined) this.#end = tell;
    const lostMeanwhile = this.#pending.some((later) => later.event?.type !== 'joined');
    if (event?.type === 'joined' && !lostMeanwhile) this.#current = event;
    // A copy, since those who subscribe from a handler are told the current state by subscribing.
    for (const observer of [...this.#observers]) tell(observer);
  }
}
