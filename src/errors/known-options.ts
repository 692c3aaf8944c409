import { shown } from './shown.js';

/**
 * Checks that options are an object with none but known keys, so that a misspelt option is not
 * taken for its default.
 *
 * @param whose Whose options they are, for messages: `'umad()'`.
 * @throws TypeError for what is no object, and for a key that is none of `known`.
 */
export function checkKnownOptions(
  options: unknown,
  known: readonly string[],
  whose: string,
): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`the options of ${whose} are ${shown(options)}; expected an object`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw new TypeError(`${key} is no option of ${whose}; options: ${known.join(', ')}`);
    }
  }
}
