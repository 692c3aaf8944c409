import { InvalidArgumentError } from 'commander';
import { MAX_TIMER_MS } from '../observable/time-options.js';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Which durations a flag accepts. */
export interface DurationForm {
  /** The smallest duration in milliseconds, for flags that accept none below it. */
  leastMs?: number;
  /** What 0 means, for flags that accept it. */
  zero?: string;
  /** What `inf` means, for flags that accept it. */
  infinite?: string;
}

function accepted(form: DurationForm): string {
  const special = [
    ...(form.infinite === undefined ? [] : [`inf: ${form.infinite}`]),
    ...(form.zero === undefined ? [] : [`0: ${form.zero}`]),
  ];
  const least =
    form.leastMs !== undefined
      ? `at least ${String(form.leastMs)}ms and `
      : form.zero === undefined
        ? 'above 0 and '
        : '';
  const also = special.length === 0 ? '' : ` (${special.join('; ')})`;
  return `Expected a duration such as 500ms, 3s or 2m, ${least}at most 596h${also}.`;
}

/**
 * A duration of the command line in milliseconds: a decimal number with its unit (`ms`, `s`, `m`,
 * `h`), `inf`, or 0 with or without a unit. Numbers without a unit are refused, since readers
 * disagree about which one is meant.
 *
 * @throws InvalidArgumentError that says what is accepted.
 */
export function parseDuration(text: string, form: DurationForm): number {
  if (text === 'inf' && form.infinite !== undefined) return Infinity;
  const [, number = '', unit = ''] =
    /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text === '0' ? '0ms' : text) ?? [];
  const milliseconds = Number(number) * (UNIT_MS[unit] ?? NaN);
  // What did not match is NaN, which no comparison lets through.
  const inRange =
    milliseconds <= MAX_TIMER_MS &&
    milliseconds >= (form.leastMs ?? 0) &&
    (milliseconds > 0 || form.zero !== undefined);
  if (!inRange) {
    throw new InvalidArgumentError(accepted(form));
  }
  return milliseconds;
}
