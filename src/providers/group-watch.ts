import type { NativeHandle, PortUse } from '../binding/environment.js';
import type { NativeTable } from '../binding/ask-exchange.js';
import type { JoinCompletion } from '../contract/provider.js';
import type { GroupNews, GroupNewsCallback } from '../contract/query.js';
import { Errno } from '../errors/errno.js';
import { failureMessage, NEWS_ADVICE } from '../errors/failure-message.js';

/** The traps of the subnet administrator that tell of groups. */
const TRAPS = { created: 66, deleted: 67 } as const satisfies Record<GroupNews['type'], number>;

/** The subscriptions to both traps, as one. */
export class GroupWatch {
  readonly #place: { readonly device: string; readonly port: number };
  readonly #callback: GroupNewsCallback;
  /** What stands at the administrator. */
  readonly #standing = new Set<GroupNews['type']>();
  /** What is still to be freed. */
  readonly handles: NativeHandle[] = [];
  #over = false;

  constructor(
    native: PortUse,
    place: { readonly device: string; readonly port: number },
    callback: GroupNewsCallback,
  ) {
    this.#place = place;
    this.#callback = callback;
    for (const type of ['created', 'deleted'] as const) {
      const handle = native.ask({ trap: TRAPS[type] }, (completion, table) => {
        this.#complete(type, completion, table);
      });
      this.handles.push(handle);
    }
  }

  #complete(type: GroupNews['type'], completion: JoinCompletion, table?: NativeTable): void {
    if (this.#over) return;
    const { status, saStatus, reason } = completion;
    const whole = Object.keys(TRAPS).length;
    const stood = this.#standing.size === whole;
    const mgid = table?.reportedGid;
    if (mgid !== undefined) {
      // Half of the news would only mislead.
      if (stood) this.#callback({ status: 0, news: { type, mgid } });
      return;
    }
    if (status === 0) {
      this.#standing.add(type);
      if (!stood && this.#standing.size === whole) this.#callback({ status: 0 });
      return;
    }
    this.#standing.delete(type);
    const renewed = status === Errno.ENETRESET && reason !== 'device-removed';
    // What both have lost is told once, and what has never stood is not lost.
    if (renewed && !stood) return;
    this.#over = !renewed;
    this.#callback({
      status,
      ...(saStatus === undefined ? {} : { saStatus }),
      ...(reason === undefined ? {} : { reason }),
      message: failureMessage({ ...completion, ...this.#place }, undefined, NEWS_ADVICE),
    });
  }
}
