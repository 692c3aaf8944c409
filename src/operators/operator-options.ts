import { isObservable } from 'rxjs';
import { checkKnownOptions } from '../errors/known-options.js';

/**
 * Checks that an operator was called, and not handed to `pipe()` as it is.
 *
 * @throws TypeError when what it was given is the source.
 */
export function checkNoSource(operator: string, argument: unknown, parameter = ''): void {
  if (!isObservable(argument)) return;
  throw new TypeError(
    `${operator} was given an Observable; write .pipe(${operator}(${parameter}))`,
  );
}

/**
 * Checks that the options of an operator are an object with none but known keys.
 *
 * @throws TypeError that says what is wrong with them.
 */
export function checkOperatorOptions(
  operator: string,
  options: unknown,
  known: readonly string[],
): void {
  checkNoSource(operator, options);
  checkKnownOptions(options, known, `${operator}()`);
}
