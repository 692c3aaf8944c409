import type { WireRecord } from './sa-mad.js';
import { assigned } from './step.js';

/** The MGIDs that have been assigned so far, and what the cases call them. */
export class AssignedMgids {
  readonly #mgids: string[] = [];

  add(mgid: string): void {
    this.#mgids.push(mgid);
  }

  /** With the MGIDs in the place of their names. */
  resolve<R extends Partial<WireRecord>>(record: R): R {
    const index = this.#mgids.findIndex((_, n) => assigned(n + 1) === record.mgid);
    return index < 0 ? record : { ...record, mgid: this.#mgids[index] };
  }
}
