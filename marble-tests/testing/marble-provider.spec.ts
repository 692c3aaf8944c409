import { EMPTY, merge, timer, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { RunHelpers } from 'rxjs/testing';
import { describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { marbleEqual, marbleProvider } from '../../src/testing/index.js';
import type { Attempt, MarbleProviderOptions, MarbleScript } from '../../src/testing/index.js';

const MGID = 'ff12::1';
const record = { mgid: MGID };

function run(test: (helpers: RunHelpers) => void): void {
  new TestScheduler(marbleEqual).run(test);
}

/** What a run fails with; the empty string when it does not. */
function failureOf(test: (helpers: RunHelpers) => void): string {
  try {
    run(test);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('marbleProvider', () => {
  it('refuses scripts that mean nothing, at construction', () => {
    run((helpers) => {
      const make = (script: MarbleScript, options?: MarbleProviderOptions) => () =>
        marbleProvider(helpers, script, options);
      for (const mark of ['|', '#', '^', '!']) {
        expect(make({ [MGID]: [`-j${mark}`] })).toThrow(`attempt 0 of ff12::1: '${mark}'`);
      }
      expect(make({ [MGID]: ['j', '-q'] })).toThrow(
        /^attempt 1 of ff12::1: unknown letter 'q' in '-q'; letters: j, r, t/,
      );
      expect(make({ [MGID]: [{ sync: '-j' }] })).toThrow(/unknown letter '-'/);
      expect(make({ [MGID]: [{ marble: 'j' } as Attempt] })).toThrow(/unknown field marble/);
      expect(make({ [MGID]: [{ throws: -5, marbles: 'j' }] })).toThrow(/throws excludes/);
      expect(make({ [MGID]: [5 as unknown as Attempt] })).toThrow(/is 5; expected a diagram/);
      expect(make({ 'ff12::1': [], 'FF12:0::1': [] })).toThrow(/has ff12::1 twice/);
      expect(make({ nonsense: [] })).toThrow(/is no GID/);
      expect(make({}, { completions: { ab: { status: 1 } } })).toThrow(/'ab' can be no letter/);
      expect(make({}, { completions: { '|': { status: 1 } } })).toThrow(/can be no letter/);
    });
  });

  it('refuses what has the wrong type, and says what it is', () => {
    run((helpers) => {
      const make =
        (script: unknown, options?: unknown, given: unknown = helpers) =>
        () =>
          marbleProvider(given as RunHelpers, script as MarbleScript, options as never);
      const wrong: [() => unknown, string][] = [
        [make({ [MGID]: 'j' }), "the attempts of ff12::1 are 'j'; expected a list"],
        [make(null), 'the script is null'],
        [make({}, { completions: null }), 'completions is null'],
        [make({}, { completions: { x: null } }), "completions: 'x' is null"],
        [make({}, { letters: {} }), 'letters is no option of marbleProvider()'],
        [make({}, undefined, {}), 'expected what TestScheduler.run passes'],
        [make({ [MGID]: [{ sync: 5 }] }), 'sync is 5; expected a diagram'],
        [make({ [MGID]: [{ marbles: null }] }), 'marbles is null; expected a diagram'],
        [make({ [MGID]: [{ late: 1 }] }), 'late is 1; expected true or false'],
        [make({ [MGID]: [{ throws: 'EIO' }] }), "throws is 'EIO'; expected a status"],
        [make({ [MGID]: [{ throws: 0 }] }), 'throws is 0; expected a status'],
        [make({ [MGID]: [{ throws: NaN }] }), 'throws is NaN; expected a status'],
        [make({ [MGID]: ['-(jr'] }), "'(' without ')' in '-(jr'"],
        [make({ [MGID]: ['-jr)'] }), "unbalanced ')' in '-jr)'"],
        [make({ [MGID]: ['-((jr))'] }), "unbalanced '(' in '-((jr))'"],
      ];
      for (const [call, message] of wrong) expect(call).toThrow(message);
    });
  });

  it('leaves no handle behind when a completion function throws in sync', () => {
    const message = failureOf((helpers) => {
      const provider = marbleProvider(
        helpers,
        { [MGID]: [{ sync: 'x' }] },
        {
          completions: {
            x: () => {
              throw new Error('in the test');
            },
          },
        },
      );
      const codes: string[] = [];
      joinMulticast$({ provider, record }).subscribe({
        error: (error: unknown) => codes.push((error as Error).message),
      });
      expect(codes).toEqual(['the join could not be started: in the test']);
      expect(provider.handlesAlive).toBe(0);
    });
    expect(message).toContain('failed: attempt 0 of ff12::1: Error: in the test');
  });

  it('takes a flush in mid-test for what it is', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j', '-j'] });
      const source$ = joinMulticast$({ provider, record, joinTimeoutMs: Infinity });
      source$.subscribe().unsubscribe();
      helpers.flush();
      source$.subscribe().unsubscribe();
    });
    const message = failureOf((helpers) => {
      marbleProvider(helpers, { [MGID]: ['-j'] });
      helpers.flush();
    });
    expect(message).toContain('unused: attempt 0 of ff12::1 was never joined');
  });

  it('maps groups with their P_Key and scope', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, {});
      expect(provider.mapGroup?.('239.1.2.3', { pkey: 1, scope: 5 })).toBe(
        'ff15:401b:8001::f01:203',
      );
    });
  });

  it('understands time progression and groups', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['1s (jr)', '2.5s j 1m r'] });
      const source$ = joinMulticast$({ provider, record });
      helpers.expectObservable(source$).toBe('1s (jr#)');
      helpers.expectObservable(source$).toBe('2500ms j 1m (r#)');
    });
  });

  it('takes attempts of one MGID in order, whatever its spelling, and of IP groups by mapping', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, {
        'FF12:0::1': ['j', '-j'],
        'ff12:401b:ffff::f01:203': ['--j'],
      });
      const until = '^--!';
      const named = (request: object): ReturnType<typeof joinMulticast$> =>
        joinMulticast$({ provider, ...request });
      helpers.expectObservable(named({ record }), until).toBe('                       j');
      helpers.expectObservable(named({ record: { mgid: 'ff12:0:0::1' } }), until).toBe('-j');
      helpers.expectObservable(named({ group: '239.1.2.3' }), until).toBe('            --j');
    });
  });

  it('keeps marbles out of joinMulticast, even at frame 0, and sync letters in it', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['j', { sync: 'j', marbles: 'r' }] });
      const log: string[] = [];
      const join = (): void => {
        const request = { provider, record } as never;
        provider.joinMulticast(request, ({ status }) => log.push(String(status)));
        log.push('joined');
      };
      join();
      join();
      helpers.flush();
      expect(log).toEqual(['joined', '0', 'joined', '0', '-102']);
    });
  });

  it('throws what the script says', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: [{ throws: -19 }, { throws: new Error('broken') }],
      });
      const source$ = joinMulticast$({ provider, record });
      helpers.expectObservable(source$).toBe('(d#)', undefined, 'ENODEV');
      helpers.expectObservable(source$).toBe('(e#)', undefined, 'EIO');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe([]);
      expect(provider.handlesMade).toBe(0);
    });
  });

  it('delivers after the free when late', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, {
        [MGID]: [{ marbles: '--j', late: true }, { marbles: '--j' }],
      });
      const seen: number[] = [];
      for (let i = 0; i < 2; i += 1) {
        const handle = provider.joinMulticast({ record } as never, () => seen.push(i));
        provider.freeMulticast(handle);
      }
      helpers.flush();
      expect(seen).toEqual([0]);
    });
  });

  it('keeps the requests and counts handles', () => {
    run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['', ''] });
      const first = joinMulticast$({ provider, record, port: 2 }).subscribe();
      const second = joinMulticast$({ provider, record }).subscribe();
      first.unsubscribe();
      expect(provider.requests.map((request) => request.port)).toEqual([2, undefined]);
      expect([provider.handlesMade, provider.handlesFreed, provider.handlesAlive]).toEqual([
        2, 1, 1,
      ]);
      second.unsubscribe();
      expect(() => provider.spans(MGID, 2)).toThrow(RangeError);
    });
  });

  it('takes more letters', () => {
    run((helpers) => {
      const provider = marbleProvider(
        helpers,
        { [MGID]: ['-x'], 'ff12::2': ['-y'] },
        {
          completions: {
            x: { status: -16 },
            y: (request) => ({ status: request.port === 2 ? -22 : -5 }),
          },
        },
      );
      const failing$ = joinMulticast$({ provider, record });
      helpers.expectObservable(failing$).toBe('-(x#)', { x: 'EBUSY' }, 'EBUSY');
      const made$ = joinMulticast$({ provider, port: 2, record: { mgid: 'ff12::2' } });
      helpers.expectObservable(made$).toBe('-(i#)', undefined, 'i');
    });
  });

  it('lists unexpected joins, unused attempts and double frees at flush', () => {
    const message = failureOf((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['j', 'j'], 'ff12::3': [''] });
      const handle = provider.joinMulticast({ record } as never, () => undefined);
      provider.freeMulticast(handle);
      provider.freeMulticast(handle);
      provider.freeMulticast({});
      provider.joinMulticast({ record: { mgid: 'ff12::2' } } as never, () => undefined);
    });
    expect(message).toBe(
      [
        'the script was not followed',
        '  unused: attempt 1 of ff12::1 was never joined',
        '  unused: attempt 0 of ff12::3 was never joined',
        '  double free: attempt 0 of ff12::1 was freed again',
        '  double free: a handle that this provider did not make was freed',
        '  unexpected: attempt 0 of ff12::2 was joined; the script has 0 for it',
      ].join('\n'),
    );
  });

  it('works with another assertion', () => {
    const plain = new TestScheduler((actual, expected) => {
      expect(actual).toEqual(expected);
    });
    plain.run((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['-j'] });
      const source$ = joinMulticast$({ provider, record });
      helpers.expectObservable(source$.pipe(toArray()), '^--!').toBe('---');
      helpers.expectSubscriptions(provider.spans(MGID, 0)).toBe('^--!');
    });
  });
});

describe('marbleEqual', () => {
  const joined = { type: 'joined' } as MulticastEvent<unknown>;

  it('shows both diagrams in one column, with a legend and the differences', () => {
    const message = failureOf((helpers) => {
      const provider = marbleProvider(helpers, { [MGID]: ['--j-- 99ms r'] });
      const source$ = joinMulticast$({ provider, record });
      helpers.expectObservable(source$).toBe('-j- 99ms (t#)', undefined, 'ETIMEDOUT');
    });
    expect(message.split('\n')).toEqual([
      'the diagrams differ',
      'expected  -j 100ms (t#)',
      'actual    --j 99ms --  (r#)',
      "  notification 0: expected 'j' at frame 1, got joined event, joined at frame 2",
      "  notification 1: expected 't' at frame 102, got reset event, ENETRESET at frame 104",
      "  notification 2: expected error 'ETIMEDOUT' at frame 102, got error ENETRESET at frame 104",
    ]);
  });

  it('says which frames lie inside a group and cannot be drawn in their place', () => {
    const message = failureOf(({ expectObservable, cold }) => {
      const five = cold('--(jjjjj)', { j: joined });
      expectObservable(merge(five, cold('----j', { j: joined }))).toBe('--(jjjjj)');
    });
    expect(message).toContain('actual: frame 4 lies inside the group at frame 2');
    expect(message).toContain(
      'notification 5: expected nothing, got joined event, joined at frame 4',
    );
  });

  it('shows other values by a legend', () => {
    const message = failureOf(({ expectObservable, cold }) => {
      expectObservable(cold('-a-b|', { a: { n: 1 }, b: { n: 2 } })).toBe('-a-b|', {
        a: { n: 1 },
        b: { n: 3 },
      });
    });
    expect(message).toMatch(/expected {2}-A-B\|\nactual {4}-A-C\|\n {2}A = \{ n: 1 \}/);
  });

  it('shows subscriptions in one column', () => {
    const message = failureOf(({ expectObservable, expectSubscriptions, cold }) => {
      const source$ = cold('--a');
      expectObservable(source$, '^---!').toBe('--a');
      expectSubscriptions(source$.subscriptions).toBe('^-----!');
    });
    expect(message.split('\n')).toEqual([
      'the subscriptions differ',
      'expected  ^-----!',
      'actual    ^---!',
    ]);
    const none = failureOf(({ expectSubscriptions, cold }) => {
      expectSubscriptions(cold('--a').subscriptions).toBe('^-!');
    });
    expect(none).toMatch(/actual {4}none$/);
  });

  it.each([{ j: joined }, { j: 'joined' }, undefined])('matches joined with %o', (values) => {
    run(({ expectObservable, cold }) => {
      expectObservable(cold('j', { j: joined })).toBe('j', values);
    });
  });

  it('does not match a letter of another code, kind or frame', () => {
    const against = (marbles: string, error?: unknown): string =>
      failureOf(({ expectObservable, cold }) => {
        expectObservable(
          cold('-j#', { j: joined }, Object.assign(new Error(), { code: 'EIO' })),
        ).toBe(marbles, undefined, error);
      });
    expect(against('-j#', 'EIO')).toBe('');
    expect(against('-j#', 'e')).toBe('');
    expect(against('-j#')).toBe('');
    expect(against('-j#', { code: 'EIO' })).toBe('');
    expect(against('-j#', 'EINVAL')).not.toBe('');
    expect(against('-r#', 'EIO')).not.toBe('');
    expect(against('j-#', 'EIO')).not.toBe('');
    expect(against('-j|')).not.toBe('');
    expect(against('-j')).not.toBe('');
    expect(against('-j#j', 'EIO')).not.toBe('');
  });

  it('compares other things deeply', () => {
    expect(() => {
      marbleEqual({ a: 1 }, { a: 1 });
      marbleEqual([], []);
    }).not.toThrow();
    expect(() => {
      marbleEqual({ a: 1 }, { a: 2 });
    }).toThrow('expected { a: 2 }, got { a: 1 }');
  });

  it('compares inner observables', () => {
    run(({ expectObservable, cold }) => {
      const inner$ = cold('-a|');
      expectObservable(cold('x', { x: inner$ })).toBe('x', { x: cold('-a|') });
      expectObservable(EMPTY).toBe('|');
      expectObservable(timer(3)).toBe('---(0|)', { 0: 0 });
    });
  });
});
