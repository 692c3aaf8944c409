import fc from 'fast-check';
import { Subject, VirtualTimeScheduler } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinCompletion, MulticastProvider } from '../../src/contract/provider.js';
import type { JoinRequest } from '../../src/contract/request.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { joinMulticastAll$ } from '../../src/operators/join-multicast-all.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { shareMembership } from '../../src/operators/share-membership.js';
import { whileJoined } from '../../src/operators/while-joined.js';
import { joinedRecord } from '../../src/testing/joined-record.js';

const LONGEST = 200;

/** What a provider does with one join: completions, before it returns or at a time after. */
interface Plan {
  readonly steps: readonly { readonly status: number; readonly at: number | undefined }[];
  readonly throws: boolean;
  readonly freeThrows: boolean;
}

const status = fc.constantFrom(0, 0, 0, 0, -102, -102, -110, -11, -22, -19, 4242, 0.5, NaN);
const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(
    fc.record({ status, at: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }) }),
    { maxLength: 4 },
  ),
  throws: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  freeThrows: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const plans = fc.array(plan, { minLength: 1, maxLength: 8 });

/** A provider that follows plans, round and round, and watches how it is used. */
class WatchedProvider implements MulticastProvider {
  readonly name = 'watched';
  readonly faults: string[] = [];
  made = 0;
  freed = 0;
  alive = new Map<string, number>();
  mostAlive = 0;
  readonly #plans: readonly Plan[];
  readonly #scheduler: VirtualTimeScheduler;
  #calls = 0;

  constructor(list: readonly Plan[], scheduler: VirtualTimeScheduler) {
    this.#plans = list;
    this.#scheduler = scheduler;
  }

  joinMulticast: MulticastProvider['joinMulticast'] = (request, callback) => {
    const { steps = [], throws, freeThrows } = this.#plans[this.#calls % this.#plans.length] ?? {};
    this.#calls += 1;
    const complete = (value: number): void => {
      const completion: JoinCompletion = { status: value };
      if (value === 0) completion.record = joinedRecord(request);
      callback(completion);
    };
    for (const { status: value, at } of steps) if (at === undefined) complete(value);
    if (throws === true) throw new Error('planned');
    const mgid = request.record.mgid ?? '';
    const handle = { mgid, freed: false, freeThrows };
    this.made += 1;
    const alive = (this.alive.get(mgid) ?? 0) + 1;
    this.alive.set(mgid, alive);
    this.mostAlive = Math.max(this.mostAlive, alive);
    for (const { status: value, at } of steps) {
      // Also after the free: the caller must ignore it.
      if (at !== undefined)
        this.#scheduler.schedule(() => {
          complete(value);
        }, at);
    }
    return handle;
  };

  freeMulticast: MulticastProvider['freeMulticast'] = (opaque) => {
    const handle = opaque as { mgid: string; freed: boolean; freeThrows: boolean };
    if (handle.freed) this.faults.push('freed twice');
    handle.freed = true;
    this.freed += 1;
    this.alive.set(handle.mgid, (this.alive.get(handle.mgid) ?? 0) - 1);
    if (handle.freeThrows) throw new Error('planned');
  };

  totalAlive(): number {
    return [...this.alive.values()].reduce((sum, n) => sum + n, 0);
  }
}

/** Checks what one subscription is told. */
class Watcher {
  readonly faults: string[] = [];
  ended = false;
  unsubscribed = false;
  #member = false;
  readonly #freed: () => boolean;

  constructor(freed: () => boolean) {
    this.#freed = freed;
  }

  next(event: MulticastEvent<unknown>): void {
    if (this.ended || this.unsubscribed) this.faults.push(`${event.type} after the end`);
    if (event.type === 'joined') {
      if (this.#member) this.faults.push('joined twice');
      this.#member = true;
      return;
    }
    this.#member = false;
    if (!this.#freed()) this.faults.push(`${event.type} while a handle was alive`);
  }

  end(): void {
    if (this.ended || this.unsubscribed) this.faults.push('end after the end');
    this.ended = true;
  }
}

function watch(
  source$: Observable<MulticastEvent<unknown>>,
  watcher: Watcher,
  scheduler: VirtualTimeScheduler,
  unsubscribeAt: number,
): void {
  const subscription = source$.subscribe({
    next: (event) => {
      watcher.next(event);
    },
    error: () => {
      watcher.end();
    },
    complete: () => {
      watcher.end();
    },
  });
  scheduler.schedule(() => {
    subscription.unsubscribe();
    watcher.unsubscribed = true;
  }, unsubscribeAt);
}

const mgid = 'ff12::1';
const policy = fc.record({
  initialDelayMs: fc.integer({ min: 0, max: 5 }),
  maxDelayMs: fc.integer({ min: 1, max: 20 }),
  stableMs: fc.integer({ min: 0, max: 20 }),
  graceMs: fc.integer({ min: 0, max: 40 }),
  maxOutageMs: fc.constantFrom(0, 10, 50, Infinity),
  retryInitial: fc.boolean(),
});
const until = fc.integer({ min: 0, max: 60 });
const joinTimeoutMs = fc.constantFrom(1, 5, 20, Infinity);

describe('random schedules', () => {
  it('joinMulticast$: frees = handles, one live handle, silence after the end', () => {
    fc.assert(
      fc.property(plans, joinTimeoutMs, until, (list, timeout, end) => {
        const scheduler = new VirtualTimeScheduler(undefined, LONGEST);
        const provider = new WatchedProvider(list, scheduler);
        const watcher = new Watcher(() => provider.totalAlive() === 0);
        const source$ = joinMulticast$({
          provider,
          record: { mgid },
          joinTimeoutMs: timeout,
          scheduler,
        });
        watch(source$, watcher, scheduler, end);
        scheduler.flush();
        expect([...provider.faults, ...watcher.faults]).toEqual([]);
        expect(provider.freed).toBe(provider.made);
        expect(provider.made).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('rejoinOnReset: the same over all attempts', () => {
    fc.assert(
      fc.property(plans, joinTimeoutMs, until, policy, (list, timeout, end, options) => {
        const scheduler = new VirtualTimeScheduler(undefined, LONGEST);
        const provider = new WatchedProvider(list, scheduler);
        const watcher = new Watcher(() => provider.totalAlive() === 0);
        const request = { provider, record: { mgid }, joinTimeoutMs: timeout, scheduler };
        // A delay of 0 over joins that fail at once would never reach the unsubscription.
        const initialDelayMs = Math.max(1, options.initialDelayMs);
        const source$ = joinMulticast$(request).pipe(
          rejoinOnReset({ ...options, initialDelayMs, jitter: 0, scheduler }),
        );
        watch(source$, watcher, scheduler, end);
        scheduler.flush();
        expect([...provider.faults, ...watcher.faults]).toEqual([]);
        expect(provider.freed).toBe(provider.made);
        expect(provider.mostAlive).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('shareMembership with rejoinOnReset on either side: one live handle for all', () => {
    const subscriber = fc.record({ from: until, until });
    fc.assert(
      fc.property(
        plans,
        fc.array(subscriber, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0, 3, 20),
        fc.boolean(),
        (list, subscribers, lingerMs, inside) => {
          const scheduler = new VirtualTimeScheduler(undefined, LONGEST);
          const provider = new WatchedProvider(list, scheduler);
          const rejoin = rejoinOnReset({ initialDelayMs: 2, maxDelayMs: 9, jitter: 0, scheduler });
          const share = shareMembership({ lingerMs, scheduler });
          const source$ = joinMulticast$({
            provider,
            record: { mgid },
            joinTimeoutMs: 20,
            scheduler,
          });
          const shared$ = inside ? source$.pipe(rejoin, share) : source$.pipe(share, rejoin);
          const faults: string[] = [];
          for (const { from, until: end } of subscribers) {
            // Whether the handle is freed says nothing here: another subscriber may have joined anew.
            const watcher = new Watcher(() => true);
            scheduler.schedule(() => {
              watch(shared$, watcher, scheduler, end);
            }, from);
            scheduler.schedule(() => faults.push(...watcher.faults), LONGEST - 1);
          }
          scheduler.flush();
          expect([...provider.faults, ...faults]).toEqual([]);
          expect(provider.freed).toBe(provider.made);
          expect(provider.mostAlive).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('whileJoined: inner streams live only while a handle does', () => {
    fc.assert(
      fc.property(plans, until, (list, end) => {
        const scheduler = new VirtualTimeScheduler(undefined, LONGEST);
        const provider = new WatchedProvider(list, scheduler);
        const faults: string[] = [];
        const inner$ = new Subject<void>();
        const subscription = joinMulticast$({
          provider,
          record: { mgid },
          joinTimeoutMs: 20,
          scheduler,
        })
          .pipe(
            rejoinOnReset({ initialDelayMs: 2, jitter: 0, scheduler }),
            whileJoined(() => inner$),
          )
          .subscribe({ error: () => undefined });
        for (let at = 0; at < 100; at += 1) {
          scheduler.schedule(() => {
            if (inner$.observed && provider.totalAlive() !== 1) faults.push(`at ${String(at)}`);
          }, at);
        }
        scheduler.schedule(() => {
          subscription.unsubscribe();
          if (inner$.observed) faults.push('after unsubscription');
        }, end);
        scheduler.flush();
        expect(faults).toEqual([]);
        expect(provider.freed).toBe(provider.made);
      }),
      { numRuns: 300 },
    );
  });

  it('joinMulticastAll$: one live handle per group, all freed, within the window', () => {
    const set = fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(
        plans,
        fc.array(fc.record({ at: until, set, qkey: fc.integer({ min: 1, max: 2 }) }), {
          maxLength: 5,
        }),
        fc.constantFrom(1, 2, Infinity),
        until,
        (list, changes, concurrency, end) => {
          const scheduler = new VirtualTimeScheduler(undefined, LONGEST);
          const provider = new WatchedProvider(list, scheduler);
          const sets$ = new Subject<JoinRequest[]>();
          const subscription = joinMulticastAll$(sets$, {
            concurrency,
            each: rejoinOnReset({ initialDelayMs: 2, jitter: 0, scheduler }),
          }).subscribe();
          for (const { at, set: wanted, qkey } of changes) {
            const requests = wanted.map((n) => ({
              provider,
              record: { mgid: `ff12::${String(n)}`, qkey },
              joinTimeoutMs: 20,
              scheduler,
            }));
            scheduler.schedule(() => {
              sets$.next(requests);
            }, at);
          }
          scheduler.schedule(() => {
            subscription.unsubscribe();
          }, end);
          scheduler.flush();
          expect(provider.faults).toEqual([]);
          expect(provider.freed).toBe(provider.made);
          expect(provider.mostAlive).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 300 },
    );
  });
});
