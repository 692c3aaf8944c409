import { Observable } from 'rxjs';
import type { Subscriber } from 'rxjs';
import type { MulticastHandle } from '../contract/provider.js';
import type { GroupEvent, GroupNewsCompletion } from '../contract/query.js';
import type { SaClient } from '../contract/sa-client.js';
import { Errno } from '../errors/errno.js';
import { failureMessage, NEWS_ADVICE } from '../errors/failure-message.js';
import { MulticastError } from '../errors/multicast-error.js';
import { wrapThrown } from '../errors/wrap-thrown.js';
import { freeHandle } from './free-handle.js';
import { choosePlace } from './place.js';
import type { Place } from './place.js';
import { clientScope } from './sa-client.js';

const SYSCALL = 'groupEvents';
/** For `unregister()`. */
const WHAT = 'group events';

/** One subscription: one handle, freed exactly once. */
class Watch {
  readonly #subscriber: Subscriber<GroupEvent>;
  readonly #place: Place;
  #handle: { readonly value: MulticastHandle } | undefined;
  #ended = false;
  /** Completions that come before there is a handle. */
  #early: GroupNewsCompletion[] | undefined = [];

  constructor(subscriber: Subscriber<GroupEvent>, place: Place) {
    this.#subscriber = subscriber;
    this.#place = place;
  }

  start(): void {
    const { provider, device, port, scope } = this.#place;
    const where = {
      ...(device === undefined ? {} : { device }),
      ...(port === undefined ? {} : { port }),
    };
    if (provider.watchGroups === undefined) {
      this.#subscriber.error(
        new MulticastError(
          `the provider '${provider.name}' cannot tell of groups; use umad() or embeddedFabric()`,
          { status: Errno.EOPNOTSUPP, syscall: SYSCALL, ...where },
        ),
      );
      return;
    }
    scope?.begin(WHAT);
    try {
      this.#handle = {
        value: provider.watchGroups(where, (completion) => {
          if (this.#early === undefined) this.#complete(completion);
          else this.#early.push(completion);
        }),
      };
    } catch (thrown) {
      this.#ended = true;
      scope?.end(WHAT);
      this.#subscriber.error(wrapThrown(thrown, where));
      return;
    }
    const early = this.#early ?? [];
    this.#early = undefined;
    // Unsubscribed while the provider was on the stack.
    if (this.#ended) this.#free();
    for (const completion of early) this.#complete(completion);
  }

  dispose(): void {
    this.#ended = true;
    this.#free();
  }

  #complete({ status, news, saStatus, reason, message }: GroupNewsCompletion): void {
    if (this.#ended) return;
    if (status === 0) {
      this.#subscriber.next(news ?? { type: 'subscribed' });
      return;
    }
    const { device, port } = this.#place;
    const details = { status, saStatus, reason, syscall: SYSCALL, device, port };
    const error = new MulticastError(
      message ?? failureMessage(details, undefined, NEWS_ADVICE),
      details,
    );
    if (error.code === 'ENETRESET' && reason !== 'device-removed') {
      this.#subscriber.next({ type: 'lost', reason: reason ?? 'group-error' });
      return;
    }
    // Freed before anybody is told, as a join is.
    this.dispose();
    this.#subscriber.error(error);
  }

  #free(): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#handle = undefined;
    const { provider, device, port, scope } = this.#place;
    freeHandle(provider, handle.value, { device, port });
    scope?.end(WHAT);
  }
}

/**
 * The groups that are created and deleted on the fabric, as the subnet administrator reports them, for
 * as long as it is subscribed to.
 *
 * `subscribed` comes first: from then on there are `created` and `deleted` events. After a port event,
 * a change of the subnet manager for one, there is `lost`, and `subscribed` once the administrator has
 * been subscribed to anew, which is tried until it succeeds; what happens in between is not told. It
 * never completes. A MulticastError ends it: EBUSY where another program has the reports of the port,
 * ENETRESET when the device is removed, EINVAL where the administrator has refused for 30 seconds to be
 * subscribed to anew, and those of a query.
 *
 * @param client Where to listen. `unregister()` waits for the subscription to end. What is no client
 * ends the stream with a TypeError.
 */
export function groupEvents$(client: SaClient): Observable<GroupEvent> {
  return new Observable((subscriber) => {
    try {
      clientScope(client);
    } catch (misuse) {
      subscriber.error(misuse);
      return;
    }
    let place: Place;
    try {
      place = choosePlace({ client }, 'watchGroups');
    } catch (thrown) {
      const { device, port } = client;
      subscriber.error(wrapThrown(thrown, { device, port }));
      return;
    }
    const watch = new Watch(subscriber, place);
    subscriber.add(() => {
      watch.dispose();
    });
    watch.start();
  });
}
