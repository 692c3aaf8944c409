import { inspect } from 'node:util';
import { canonicalMgid } from '../address/mgid.js';
import type { LetterCompletion } from './letters.js';

/**
 * One attempt to join. A string is its `marbles`.
 */
export type Attempt =
  | string
  | {
      /** Letters that complete inside `joinMulticast`, before it returns; no time in them. */
      sync?: string;
      /**
       * Letters in virtual time, frame 0 being the moment of the join. None completes inside
       * `joinMulticast`, not even at frame 0. `''` never completes.
       */
      marbles?: string;
      /** `joinMulticast` throws: a MulticastError with this status, or this error. */
      throws?: number | Error;
      /** Keeps delivering after the free, as a provider must not. Default false. */
      late?: boolean;
    };

/** Attempts by MGID, in any usual spelling. Joins of one MGID take them in order. */
export type MarbleScript = Readonly<Record<string, readonly Attempt[]>>;

/** An attempt that was checked. */
export interface CheckedAttempt {
  readonly sync: readonly string[];
  readonly marbles: string;
  readonly throws: number | Error | undefined;
  readonly late: boolean;
}

/** Time progression in the form that TestScheduler reads, between spaces. */
const PROGRESSION = /(?<=^|\s)[0-9]+(?:\.[0-9]+)?(?:ms|s|m)(?=\s)/g;

function checkLetters(
  where: string,
  diagram: string,
  timed: boolean,
  known: Readonly<Record<string, LetterCompletion>>,
): string[] {
  const letters = timed
    ? Array.from(diagram.replace(PROGRESSION, '').replace(/[-\s()]/g, ''))
    : Array.from(diagram.replace(/\s/g, ''));
  for (const letter of letters) {
    if ('|#^!'.includes(letter)) {
      throw new TypeError(
        `${where}: '${letter}' in '${diagram}' has no meaning here; a provider reports completions and nothing else`,
      );
    }
    if (!Object.hasOwn(known, letter)) {
      throw new TypeError(
        `${where}: unknown letter '${letter}' in '${diagram}'; letters: ${Object.keys(known).join(', ')}`,
      );
    }
  }
  return letters;
}

/** Parentheses of a diagram stand in pairs and not within each other. */
function checkGroups(where: string, diagram: string): void {
  let open = false;
  for (const mark of diagram) {
    if (mark !== '(' && mark !== ')') continue;
    if (open === (mark === '(')) {
      throw new TypeError(`${where}: unbalanced '${mark}' in '${diagram}'`);
    }
    open = mark === '(';
  }
  if (open) throw new TypeError(`${where}: '(' without ')' in '${diagram}'`);
}

function checkTypes(where: string, { sync, marbles, throws, late }: AttemptFields): void {
  for (const [name, diagram] of Object.entries({ sync, marbles })) {
    if (typeof diagram !== 'string') {
      throw new TypeError(`${where}: ${name} is ${inspect(diagram)}; expected a diagram`);
    }
  }
  if (typeof late !== 'boolean') {
    throw new TypeError(`${where}: late is ${inspect(late)}; expected true or false`);
  }
  if (throws === undefined || throws instanceof Error) return;
  const accepted = `${where}: throws is ${inspect(throws)}; expected a status other than 0, for example -5 for EIO, or an Error`;
  if (typeof throws !== 'number') throw new TypeError(accepted);
  if (!Number.isInteger(throws) || throws === 0) throw new RangeError(accepted);
}

interface AttemptFields {
  readonly sync: unknown;
  readonly marbles: unknown;
  readonly throws: unknown;
  readonly late: unknown;
}

const FIELDS = ['sync', 'marbles', 'throws', 'late'];

function checkAttempt(
  where: string,
  attempt: Attempt,
  known: Readonly<Record<string, LetterCompletion>>,
): CheckedAttempt {
  const given = typeof attempt === 'string' ? { marbles: attempt } : attempt;
  if (typeof given !== 'object' || (given as unknown) === null) {
    throw new TypeError(`${where} is ${inspect(attempt)}; expected a diagram or an object`);
  }
  const unknownField = Object.keys(given).find((key) => !FIELDS.includes(key));
  if (unknownField !== undefined) {
    throw new TypeError(`${where}: unknown field ${unknownField}; fields: ${FIELDS.join(', ')}`);
  }
  const { sync = '', marbles = '', throws, late = false } = given;
  checkTypes(where, { sync, marbles, throws, late });
  if (throws !== undefined && (sync !== '' || marbles !== '')) {
    throw new TypeError(`${where}: throws excludes sync and marbles, for there is no handle then`);
  }
  const syncLetters = checkLetters(where, sync, false, known);
  checkLetters(where, marbles, true, known);
  checkGroups(where, marbles);
  return { sync: syncLetters, marbles, throws, late };
}

/**
 * Checks a script against the letters there are, by canonical MGID.
 *
 * @throws TypeError or RangeError that says which attempt of which MGID is wrong.
 */
export function checkScript(
  script: MarbleScript,
  known: Readonly<Record<string, LetterCompletion>>,
): Map<string, CheckedAttempt[]> {
  if (typeof script !== 'object' || (script as unknown) === null) {
    throw new TypeError(`the script is ${inspect(script)}; expected lists of attempts by MGID`);
  }
  const attempts = new Map<string, CheckedAttempt[]>();
  for (const [text, list] of Object.entries(script)) {
    const mgid = canonicalMgid(text);
    if (attempts.has(mgid)) throw new TypeError(`the script has ${mgid} twice`);
    if (!Array.isArray(list)) {
      throw new TypeError(
        `the attempts of ${mgid} are ${inspect(list)}; expected a list, for example ['--j']`,
      );
    }
    attempts.set(
      mgid,
      (list as readonly Attempt[]).map((attempt, index) =>
        checkAttempt(`attempt ${String(index)} of ${mgid}`, attempt, known),
      ),
    );
  }
  return attempts;
}
