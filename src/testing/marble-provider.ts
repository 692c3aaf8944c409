import { inspect } from 'node:util';
import { map, NEVER } from 'rxjs';
import type { Observable, Subscription } from 'rxjs';
import type { RunHelpers } from 'rxjs/testing';
import { canonicalMgid } from '../address/mgid.js';
import { ipoibMgid } from '../address/ipoib.js';
import type { JoinCallback, JoinCompletion, MulticastProvider } from '../contract/provider.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import { failureMessage } from '../errors/failure-message.js';
import { checkKnownOptions } from '../errors/known-options.js';
import { MulticastError } from '../errors/multicast-error.js';
import { requestedMgid } from './joined-record.js';
import { LETTER_COMPLETIONS } from './letters.js';
import type { LetterCompletion } from './letters.js';
import { checkScript } from './script.js';
import type { CheckedAttempt, MarbleScript } from './script.js';

/** From a join to its free, as `expectSubscriptions` reads it. */
export type Spans = Parameters<RunHelpers['expectSubscriptions']>[0];

/** What a scripted provider may know beside its script. */
export interface MarbleProviderOptions {
  /** More letters, or other meanings of the usual ones. One character each. */
  completions?: Readonly<Record<string, LetterCompletion>> | undefined;
}

/** A provider driven by diagrams, in the virtual time of `TestScheduler.run`. */
export interface MarbleProvider extends MulticastProvider {
  /** The requests of all joins so far, unexpected ones included, in order. */
  readonly requests: readonly ResolvedJoinRequest[];
  /** Handles made and not yet freed. */
  readonly handlesAlive: number;
  /** Handles made. */
  readonly handlesMade: number;
  /** Handles freed. */
  readonly handlesFreed: number;
  /**
   * From the join to the free of an attempt: none before the join, one without an end while the handle
   * is alive. Give it to `expectSubscriptions`.
   *
   * @param attempt Counted from 0.
   * @throws RangeError when the script has no such attempt.
   */
  spans(mgid: string, attempt: number): Spans;
}

interface ScriptedAttempt extends CheckedAttempt {
  readonly unused: string;
  readonly span$: ReturnType<RunHelpers['cold']>;
  readonly letters$: Observable<string>;
}

interface Handle {
  readonly label: string;
  freed: boolean;
  readonly span: Subscription;
  readonly delivery: Subscription;
  readonly late: boolean;
}

function checkCompletions(completions: Readonly<Record<string, LetterCompletion>>): void {
  if (typeof completions !== 'object' || (completions as unknown) === null) {
    throw new TypeError(`completions is ${inspect(completions)}; expected completions by letter`);
  }
  for (const [letter, completion] of Object.entries(completions)) {
    if (!['object', 'function'].includes(typeof completion) || (completion as unknown) === null) {
      throw new TypeError(
        `completions: '${letter}' is ${inspect(completion)}; expected a completion, or a function that makes one`,
      );
    }
    if (letter.length !== 1 || /[-\s()|#^!]/.test(letter)) {
      throw new TypeError(
        `completions: '${letter}' can be no letter; expected one character other than space - ( ) | # ^ !`,
      );
    }
  }
}

/** What a provider needs of the helpers of `TestScheduler.run`. */
export type MarbleHelpers = Pick<RunHelpers, 'cold' | 'expectSubscriptions'> &
  Partial<Pick<RunHelpers, 'flush'>>;

function checkHelpers(helpers: MarbleHelpers): void {
  if (typeof helpers?.cold !== 'function' || typeof helpers.expectSubscriptions !== 'function') {
    throw new TypeError(
      `helpers is ${inspect(helpers, { depth: 0 })}; expected what TestScheduler.run passes to its callback`,
    );
  }
}

/**
 * A provider for tests. Joins take the attempts of their MGID in order, across subscriptions, and
 * report what the diagrams say.
 *
 * An unexpected join, an attempt that nobody used and a double free are listed when the scheduler
 * flushes, as a failed expectation of an empty list.
 *
 * @param helpers Those that `TestScheduler.run` passes to its callback.
 * @param script Attempts by MGID.
 * @throws TypeError or RangeError for a script that is not as documented.
 */
export function marbleProvider(
  helpers: MarbleHelpers,
  script: MarbleScript,
  options: MarbleProviderOptions = {},
): MarbleProvider {
  checkHelpers(helpers);
  checkKnownOptions(options, ['completions'], 'marbleProvider()');
  const { completions = {} } = options;
  checkCompletions(completions);
  const letters = { ...LETTER_COMPLETIONS, ...completions };
  const requests: ResolvedJoinRequest[] = [];
  const handles = new Map<object, Handle>();
  let freedCount = 0;

  // What is wrong so far. The list itself is expected to be empty at flush, hence it is changed in
  // place: an attempt is on it until it is used.
  const faults: string[] = [];
  const unusedAttempts = new Set<string>();
  const scripted = new Map<string, ScriptedAttempt[]>();
  const used = new Map<string, number>();
  for (const [mgid, attempts] of checkScript(script, letters)) {
    scripted.set(
      mgid,
      attempts.map((attempt, index) => {
        const unused = `unused: attempt ${String(index)} of ${mgid} was never joined`;
        faults.push(unused);
        unusedAttempts.add(unused);
        return {
          ...attempt,
          unused,
          span$: helpers.cold(''),
          letters$: helpers.cold(attempt.marbles),
        };
      }),
    );
  }
  const expectNoFaults = (): void => {
    helpers.expectSubscriptions(faults as unknown as Spans).toBe([]);
  };
  expectNoFaults();
  const { flush } = helpers;
  if (typeof flush === 'function') {
    // A flush that the test makes itself is not the last one: what is unused then may yet be used.
    helpers.flush = () => {
      const isUnused = (fault: string): boolean => unusedAttempts.has(fault);
      const unused = faults.filter(isUnused);
      const others = faults.filter((fault) => !isUnused(fault));
      faults.splice(0, Infinity, ...others);
      flush();
      faults.unshift(...unused.filter(isUnused));
      expectNoFaults();
    };
  }

  const completionOf = (letter: string, request: ResolvedJoinRequest): JoinCompletion => {
    const completion = letters[letter];
    if (completion === undefined) throw new TypeError(`unknown letter '${letter}'`);
    return typeof completion === 'function' ? completion(request) : completion;
  };

  const makeHandle = (label: string, attempt: ScriptedAttempt | undefined): [object, Handle] => {
    const key = {};
    const handle: Handle = {
      label,
      freed: false,
      span: (attempt?.span$ ?? NEVER).subscribe(),
      delivery: NEVER.subscribe(),
      late: attempt?.late ?? false,
    };
    handles.set(key, handle);
    return [key, handle];
  };

  const joinMulticast = (request: ResolvedJoinRequest, callback: JoinCallback): object => {
    requests.push(request);
    const mgid = requestedMgid(request);
    const index = used.get(mgid) ?? 0;
    used.set(mgid, index + 1);
    const label = `attempt ${String(index)} of ${mgid}`;
    const attempt = scripted.get(mgid)?.[index];
    if (attempt === undefined) {
      faults.push(
        `unexpected: ${label} was joined; the script has ${String(scripted.get(mgid)?.length ?? 0)} for it`,
      );
      return makeHandle(label, undefined)[0];
    }
    unusedAttempts.delete(attempt.unused);
    // It is not on the list during a flush that the test makes.
    const at = faults.indexOf(attempt.unused);
    if (at >= 0) faults.splice(at, 1);
    if (attempt.throws !== undefined) {
      if (typeof attempt.throws !== 'number') throw attempt.throws;
      const details = { status: attempt.throws, mgid };
      throw new MulticastError(failureMessage(details), details);
    }
    const [key, handle] = makeHandle(label, attempt);
    try {
      for (const letter of attempt.sync) callback(completionOf(letter, request));
    } catch (error) {
      // A function of the test threw: the join throws with it, and so there is no handle.
      faults.push(`failed: ${label}: ${inspect(error)}`);
      handles.delete(key);
      handle.span.unsubscribe();
      throw error;
    }
    handle.delivery.add(
      attempt.letters$
        // A completion may be made by a function of the test, and that may throw.
        .pipe(map((letter) => completionOf(letter, request)))
        .subscribe({
          next: callback,
          error: (error: unknown) => faults.push(`failed: ${label}: ${inspect(error)}`),
        }),
    );
    return key;
  };

  const freeMulticast = (key: object): void => {
    const handle = handles.get(key);
    if (handle === undefined) {
      faults.push('double free: a handle that this provider did not make was freed');
    } else if (handle.freed) {
      faults.push(`double free: ${handle.label} was freed again`);
    } else {
      handle.freed = true;
      freedCount += 1;
      handle.span.unsubscribe();
      if (!handle.late) handle.delivery.unsubscribe();
    }
  };

  return {
    name: 'marbles',
    requests,
    get handlesMade() {
      return handles.size;
    },
    get handlesFreed() {
      return freedCount;
    },
    get handlesAlive() {
      return handles.size - freedCount;
    },
    spans: (text, index) => {
      const mgid = canonicalMgid(text);
      const attempt = scripted.get(mgid)?.[index];
      if (attempt === undefined) {
        throw new RangeError(`the script has no attempt ${String(index)} of ${mgid}`);
      }
      return attempt.span$.subscriptions;
    },
    joinMulticast,
    freeMulticast,
    mapGroup: (group, { pkey, scope }) => ipoibMgid(group, { pkey, scope }),
  };
}
