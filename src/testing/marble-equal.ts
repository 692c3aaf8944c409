import { inspect, isDeepStrictEqual } from 'node:util';
import { alignedDiagrams, framesInsideGroups } from './diagram.js';
import type { DiagramFrame } from './diagram.js';
import { LETTER_CODES } from './letters.js';

interface Notification {
  readonly kind: 'N' | 'E' | 'C';
  readonly value?: unknown;
  readonly error?: unknown;
}

interface Message {
  readonly frame: number;
  readonly notification: Notification;
}

interface SpanLog {
  readonly subscribedFrame: number;
  readonly unsubscribedFrame: number;
}

/** What `#` stands for when the test gives no error. */
const ANY_ERROR = 'error';

function isMessage(value: unknown): value is Message {
  const { frame, notification } = (value ?? {}) as Partial<Message>;
  return typeof frame === 'number' && typeof notification === 'object';
}

function isSpan(value: unknown): value is SpanLog {
  const { subscribedFrame, unsubscribedFrame } = (value ?? {}) as Partial<SpanLog>;
  return typeof subscribedFrame === 'number' && typeof unsubscribedFrame === 'number';
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(is);
}

function stringOf(value: unknown, field: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found = (value as Record<string, unknown>)[field];
  return typeof found === 'string' ? found : undefined;
}

/** `'joined'`, or the code of the failure; undefined for what is no event. */
function eventCode(value: unknown): string | undefined {
  const type = stringOf(value, 'type');
  if (type === 'joined') return type;
  if (type !== 'error' && type !== 'reset') return undefined;
  return stringOf((value as { error?: unknown }).error, 'code');
}

function codeOfLetter(text: string): string {
  return Object.hasOwn(LETTER_CODES, text) ? LETTER_CODES[text as keyof typeof LETTER_CODES] : text;
}

function sameValue(actual: unknown, expected: unknown): boolean {
  if (typeof expected === 'string') {
    const code = eventCode(actual);
    if (code !== undefined) {
      return code === codeOfLetter(expected) || stringOf(actual, 'type') === expected;
    }
  }
  return isDeepStrictEqual(actual, expected);
}

function sameError(actual: unknown, expected: unknown): boolean {
  const code = stringOf(actual, 'code');
  if (typeof expected === 'string' && actual instanceof Error) {
    if (expected === ANY_ERROR) return true;
    return code === undefined
      ? actual.name === expected || actual.message === expected
      : code === codeOfLetter(expected);
  }
  const expectedCode = stringOf(expected, 'code');
  if (code !== undefined && expectedCode !== undefined) return code === expectedCode;
  return isDeepStrictEqual(actual, expected);
}

function sameMessage(actual: Message | undefined, expected: Message | undefined): boolean {
  if (actual === undefined || expected === undefined || actual.frame !== expected.frame) {
    return false;
  }
  const [a, e] = [actual.notification, expected.notification];
  // Notifications of inner observables are lists of messages themselves.
  if (a.kind === 'N' && e.kind === 'N' && isListOf(a.value, isMessage) && a.value.length > 0) {
    return isListOf(e.value, isMessage) && sameMessages(a.value, e.value);
  }
  if (a.kind === 'N' && e.kind === 'N') return sameValue(a.value, e.value);
  if (a.kind === 'E' && e.kind === 'E') return sameError(a.error, e.error);
  return a.kind === e.kind;
}

function sameMessages(actual: readonly Message[], expected: readonly Message[]): boolean {
  return (
    actual.length === expected.length &&
    actual.every((message, index) => sameMessage(message, expected[index]))
  );
}

function valueText(value: unknown): string {
  const code = eventCode(value);
  if (code !== undefined) return `${String(stringOf(value, 'type'))} event, ${code}`;
  return inspect(value, { depth: 2, breakLength: Infinity });
}

function errorText(error: unknown): string {
  return stringOf(error, 'code') ?? (error instanceof Error ? error.name : inspect(error));
}

function messageText(message: Message | undefined): string {
  if (message === undefined) return 'nothing';
  const { frame, notification } = message;
  const what =
    notification.kind === 'N'
      ? valueText(notification.value)
      : notification.kind === 'E'
        ? `error ${errorText(notification.error)}`
        : 'complete';
  return `${what} at frame ${String(frame)}`;
}

const LETTER_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(LETTER_CODES).map(([letter, code]) => [code, letter]),
);

/** Gives each value one character, and keeps those that no reader could guess for a legend. */
class Legend {
  readonly #entries: { readonly mark: string; readonly value: unknown }[] = [];

  markOf(value: unknown): string {
    const code = eventCode(value) ?? (typeof value === 'string' ? value : undefined);
    const letter = code === undefined ? undefined : (LETTER_OF.get(code) ?? code);
    if (letter?.length === 1) return letter;
    const known = this.#entries.find((entry) => isDeepStrictEqual(entry.value, value));
    if (known !== undefined) return known.mark;
    const mark = String.fromCharCode('A'.charCodeAt(0) + (this.#entries.length % 26));
    this.#entries.push({ mark, value });
    return mark;
  }

  lines(): string[] {
    return this.#entries.map(({ mark, value }) => `${mark} = ${valueText(value)}`);
  }
}

function framesOf(messages: readonly Message[], legend: Legend): DiagramFrame[] {
  const frames = new Map<number, string>();
  for (const { frame, notification } of messages) {
    const mark =
      notification.kind === 'N'
        ? legend.markOf(notification.value)
        : notification.kind === 'E'
          ? '#'
          : '|';
    frames.set(frame, (frames.get(frame) ?? '') + mark);
  }
  return [...frames].map(([frame, marks]) => ({ frame, marks }));
}

function framesOfSpan({ subscribedFrame, unsubscribedFrame }: SpanLog): DiagramFrame[] {
  if (subscribedFrame === unsubscribedFrame) return [{ frame: subscribedFrame, marks: '^!' }];
  return [
    { frame: subscribedFrame, marks: '^' },
    { frame: unsubscribedFrame, marks: '!' },
  ].filter(({ frame }) => Number.isFinite(frame));
}

function failMessages(actual: readonly Message[], expected: readonly Message[]): never {
  const legend = new Legend();
  const diagrams = [framesOf(expected, legend), framesOf(actual, legend)];
  const [expectedText = '', actualText = ''] = alignedDiagrams(diagrams);
  const hidden = diagrams.flatMap((diagram, index) =>
    framesInsideGroups(diagram).map((text) => `${index === 0 ? 'expected' : 'actual'}: ${text}`),
  );
  const length = Math.max(actual.length, expected.length);
  const differences = Array.from({ length }, (_, index) => index)
    .filter((index) => !sameMessage(actual[index], expected[index]))
    .map(
      (index) =>
        `  notification ${String(index)}: expected ${messageText(expected[index])}, got ${messageText(actual[index])}`,
    );
  throw new Error(
    [
      'the diagrams differ',
      `expected  ${expectedText}`,
      `actual    ${actualText}`,
      ...hidden.map((line) => `  ${line}`),
      ...legend.lines().map((line) => `  ${line}`),
      ...differences,
    ].join('\n'),
  );
}

function failSpans(actual: readonly SpanLog[], expected: readonly SpanLog[]): never {
  const texts = alignedDiagrams([...expected, ...actual].map(framesOfSpan));
  const side = (name: string, from: number, count: number): string[] =>
    count === 0
      ? [`${name}none`]
      : texts
          .slice(from, from + count)
          .map((text, index) => (index === 0 ? name : '          ') + text);
  throw new Error(
    [
      'the subscriptions differ',
      ...side('expected  ', 0, expected.length),
      ...side('actual    ', expected.length, actual.length),
    ].join('\n'),
  );
}

/**
 * Compares what `TestScheduler` observed with what a test expects: `new TestScheduler(marbleEqual)`.
 *
 * A multicast event matches the letter of its code (j joined, r ENETRESET, t ETIMEDOUT, e EIO,
 * i EINVAL, a EAGAIN, n EADDRNOTAVAIL, d ENODEV), the code itself, or its `type`, given as value. An
 * error matches by `code`, given as text, as letter, or on an error; `#` without an error given matches
 * any error. Everything else is compared deeply.
 *
 * @throws Error with both diagrams below each other, one frame in one column, and the differences.
 */
export function marbleEqual(actual: unknown, expected: unknown): void {
  if (isListOf(actual, isSpan) && isListOf(expected, isSpan)) {
    const same =
      actual.length === expected.length &&
      actual.every((span, index) => {
        const other = expected[index];
        return (
          span.subscribedFrame === other?.subscribedFrame &&
          span.unsubscribedFrame === other.unsubscribedFrame
        );
      });
    if (!same) failSpans(actual, expected);
    return;
  }
  if (isListOf(actual, isMessage) && isListOf(expected, isMessage)) {
    if (!sameMessages(actual, expected)) failMessages(actual, expected);
    return;
  }
  if (isDeepStrictEqual(actual, expected)) return;
  if (Array.isArray(actual) && Array.isArray(expected) && expected.length === 0) {
    // The faults of a scripted provider, which expects to have none.
    throw new Error(
      ['the script was not followed', ...actual.map((line) => `  ${String(line)}`)].join('\n'),
    );
  }
  throw new Error(`expected ${inspect(expected)}, got ${inspect(actual)}`);
}
