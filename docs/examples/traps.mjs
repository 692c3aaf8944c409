// Every claim of docs/traps.md, in its order, asserted: the trap first, then the right way.

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import {
  embeddedFabric,
  joinMulticast,
  joinMulticast$,
  MulticastError,
  rejoinOnReset,
  shareMembership,
  whileJoined,
} from 'rx-ib-multicast';
import { marbleEqual, marbleProvider } from 'rx-ib-multicast/testing';
import {
  filter,
  firstValueFrom,
  interval,
  map,
  retry,
  share,
  shareReplay,
  take,
  tap,
  timeout,
  Subject,
  takeUntil,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';

const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
const record = { mgid: 'ff12:cafe::10', ...creation };
const absent = { mgid: 'ff12:cafe::99' }; // cannot be created: the join fails
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs `work` on a fabric of its own. */
async function trap(name, work) {
  const provider = embeddedFabric();
  const log = [];
  const note = (tag) => ({
    next: (event) => log.push(`${tag} ${event.type}`),
    error: (error) => log.push(`${tag} failed: ${error.code ?? error.name}`),
  });
  await work({ provider, log, note });
  await provider.close();
  console.log(`ok  ${name}`);
}

/** Throws what the diagrams differ in. */
function assertMarbles(work) {
  new TestScheduler(marbleEqual).run(work);
}

await trap('firstValueFrom', async ({ provider }) => {
  const event = await firstValueFrom(joinMulticast$({ provider, record }));
  assert.equal(event.type, 'joined');
  assert.equal(provider.stats().handlesAlive, 0); // left already
  const failure = await firstValueFrom(joinMulticast$({ provider, record: absent }));
  assert.equal(failure.type, 'error'); // and yet resolved

  const membership = await joinMulticast({ provider, record });
  assert.equal(provider.stats().handlesAlive, 1);
  await membership.leave();
  await assert.rejects(joinMulticast({ provider, record: absent }), { code: 'EINVAL' });
});

await trap('shareReplay(1)', async ({ provider, log, note }) => {
  const policy = { initialDelayMs: 200, jitter: 0 };
  const events$ = joinMulticast$({ provider, record }).pipe(rejoinOnReset(policy));

  const replayed$ = events$.pipe(shareReplay(1));
  replayed$.subscribe(note('a'));
  await sleep(50);
  provider.takeover(9);
  await sleep(50);
  replayed$.pipe(take(1)).subscribe(note('late'));
  assert.deepEqual(log.splice(0), ['a joined', 'a reset', 'late reset']); // not the state, the past

  const left$ = joinMulticast$({ provider, device: 'embedded1', record }).pipe(shareReplay(1));
  left$.subscribe(note('b')).unsubscribe();
  await sleep(50);
  assert.equal(provider.stats().ports.find(({ device }) => device === 'embedded1').handlesAlive, 1);
});

await trap('shareReplay(1), the right way', async ({ provider, log, note }) => {
  const policy = { initialDelayMs: 100, jitter: 0 };
  const shared$ = joinMulticast$({ provider, record }).pipe(
    rejoinOnReset(policy),
    shareMembership(),
  );
  const a = shared$.subscribe(note('a'));
  await sleep(50);
  provider.takeover(9);
  await sleep(50);
  const late = shared$.subscribe(note('late'));
  await sleep(100);
  assert.deepEqual(log, ['a joined', 'a reset', 'a joined', 'late joined']);
  a.unsubscribe();
  late.unsubscribe();
  assert.equal(provider.stats().handlesAlive, 0);
});

await trap('timeout on the stream', async ({ provider, log, note }) => {
  joinMulticast$({ provider, record }).pipe(timeout(50)).subscribe(note('a'));
  await sleep(100);
  assert.deepEqual(log.splice(0), ['a joined', 'a failed: TimeoutError']);

  const right = joinMulticast$({ provider, record, joinTimeoutMs: 50 }).subscribe(note('b'));
  await sleep(100);
  assert.deepEqual(log, ['b joined']);
  right.unsubscribe();
});

await trap('share without replay', async ({ provider, log, note }) => {
  const shared$ = joinMulticast$({ provider, record }).pipe(share());
  const a = shared$.subscribe(note('a'));
  await sleep(50);
  const late = shared$.subscribe(note('late'));
  await sleep(50);
  assert.deepEqual(log.splice(0), ['a joined']);
  a.unsubscribe();
  late.unsubscribe();

  const membership$ = joinMulticast$({ provider, record }).pipe(shareMembership());
  const b = membership$.subscribe(note('b'));
  await sleep(50);
  const later = membership$.subscribe(note('later'));
  assert.deepEqual(log, ['b joined', 'later joined']);
  b.unsubscribe();
  later.unsubscribe();
});

await trap('retry(n) never renews its budget', () => {
  const mgid = 'ff12::1';
  const attempts = ['j 59m r', 'j 59m r', 'j 59m r', 'j'];
  assertMarbles((helpers) => {
    const provider = marbleProvider(helpers, { [mgid]: attempts.slice(0, 3) });
    const source$ = joinMulticast$({ provider, record: { mgid } });
    // Three resets in three hours, and it has failed for good.
    const result = 'j 59m r 999ms j 59m r 999ms j 59m (r#)';
    helpers
      .expectObservable(source$.pipe(retry({ count: 2, delay: 1_000 })))
      .toBe(result, undefined, 'ENETRESET');
  });
  assertMarbles((helpers) => {
    const provider = marbleProvider(helpers, { [mgid]: attempts });
    const source$ = joinMulticast$({ provider, record: { mgid } });
    const result = 'j 59m r 999ms j 59m r 999ms j 59m r 999ms j';
    helpers
      .expectObservable(source$.pipe(rejoinOnReset({ jitter: 0, maxOutageMs: 5_000 })), '200m !')
      .toBe(result);
  });
});

await trap('resetOnSuccess is fooled by values', async ({ provider }) => {
  let attempts = 0;
  const request = () => {
    attempts += 1;
    return { provider, record: absent };
  };
  const endless = joinMulticast$(request)
    .pipe(retry({ count: 2, delay: 1, resetOnSuccess: true }))
    .subscribe({ error: () => assert.fail('it ended') });
  await sleep(200);
  assert.ok(attempts > 10); // each error event is a value, and so a success
  endless.unsubscribe();

  attempts = 0;
  await assert.rejects(
    firstValueFrom(
      joinMulticast$(request).pipe(
        filter((event) => event.type === 'joined'),
        retry({ count: 2, delay: 1, resetOnSuccess: true }),
      ),
    ),
    { code: 'EINVAL' },
  );
  assert.equal(attempts, 3);
});

await trap('a bare retry() on synchronous failures', ({ provider, log, note }) => {
  let attempts = 0;
  const nowhere = () => {
    attempts += 1;
    // ENODEV, in the same call; without this end it would go on until the stack overflows.
    return { provider, device: attempts < 500 ? 'mlx5_9' : 'embedded0', record };
  };
  joinMulticast$(nowhere).pipe(retry()).subscribe({ error: assert.fail }).unsubscribe();
  assert.equal(attempts, 500); // all of them in one call of subscribe

  joinMulticast$({ provider, device: 'mlx5_9', record })
    .pipe(rejoinOnReset({ retryInitial: true }))
    .subscribe(note('a'));
  assert.deepEqual(log, ['a error', 'a failed: ENODEV']); // not retryable: told at once
});

await trap('takeUntil completes before it leaves', async ({ provider }) => {
  const stop$ = new Subject();
  let aliveAtCompletion;
  joinMulticast$({ provider, record })
    .pipe(takeUntil(stop$))
    .subscribe({ complete: () => (aliveAtCompletion = provider.stats().handlesAlive) });
  await sleep(50);
  stop$.next();
  assert.equal(aliveAtCompletion, 1);

  const membership = joinMulticast$({ provider, record }).subscribe({ error: assert.fail });
  await sleep(50);
  membership.unsubscribe();
  await provider.idle();
  assert.equal(provider.members().length, 0);
});

await trap('specs without an end', () => {
  const mgid = 'ff12::1';
  let values = 0;
  // Neither an inner stream nor an unlimited rejoin ends by itself, and flush waits for both.
  new TestScheduler(marbleEqual).run((helpers) => {
    const provider = marbleProvider(helpers, { [mgid]: ['j'] });
    joinMulticast$({ provider, record: { mgid } })
      .pipe(
        whileJoined(() => interval(1)),
        tap(() => (values += 1)),
        take(10_000),
      )
      .subscribe();
  });
  assert.equal(values, 10_000);

  let attempts = 0;
  const failing = {
    name: 'failing',
    joinMulticast: () => {
      attempts += 1;
      throw new MulticastError('no answer', { status: attempts < 1_000 ? -110 : -22 });
    },
    freeMulticast: () => undefined,
  };
  new TestScheduler(marbleEqual).run(() => {
    joinMulticast$({ provider: failing, record: { mgid } })
      .pipe(rejoinOnReset({ retryInitial: true }))
      .subscribe({ error: () => undefined });
  });
  assert.equal(attempts, 1_000);

  assertMarbles((helpers) => {
    const provider = marbleProvider(helpers, { [mgid]: ['j'] });
    const source$ = joinMulticast$({ provider, record: { mgid } }).pipe(
      whileJoined(() => interval(2).pipe(map(() => 'x'))),
    );
    helpers.expectObservable(source$, '^-----!').toBe('--x-x-'); // ends where the spec says
  });
});

await trap('the context of the subscriber', async ({ provider }) => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const again = storage.run('mine', () => {
    const store = storage.getStore();
    return firstValueFrom(
      joinMulticast$(() => {
        seen.push(storage.getStore());
        return { provider, record, context: store };
      }).pipe(
        rejoinOnReset({ initialDelayMs: 1 }),
        tap(({ type }) => type === 'joined' && seen.length === 1 && provider.takeover(9)),
        filter(({ type }) => type === 'joined' && seen.length === 2),
      ),
    );
  });
  assert.equal((await again).context, 'mine');
  assert.deepEqual(seen, ['mine', undefined]);
});

await trap('no error handler', () => {
  const program = (observer) => `
    import { embeddedFabric, joinMulticast$ } from 'rx-ib-multicast';
    const provider = embeddedFabric();
    joinMulticast$({ provider, record: { mgid: 'ff12:cafe::99' } }).subscribe(${observer});`;
  const run = (observer) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', program(observer)], {
      cwd: import.meta.dirname ?? new URL('.', import.meta.url).pathname,
      encoding: 'utf8',
    });
  const crashed = run('(event) => undefined');
  assert.equal(crashed.status, 1);
  assert.match(crashed.stderr, /MulticastError/);
  assert.equal(run('{ error: (error) => undefined }').status, 0);
});

await trap('AbortSignal.timeout', async ({ provider }) => {
  const ended = await joinMulticast({ provider, record }, { signal: AbortSignal.timeout(50) });
  assert.equal(await ended.lost, undefined); // left after 50 ms, though the join was in time
  assert.equal(provider.stats().handlesAlive, 0);

  const held = await joinMulticast({ provider, record, joinTimeoutMs: 50 });
  await sleep(100);
  assert.equal(provider.stats().handlesAlive, 1);
  await held.leave();
});
