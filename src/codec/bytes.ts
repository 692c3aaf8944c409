import { shown } from '../errors/shown.js';

/**
 * Checks that there are as many bytes as a record has.
 *
 * @throws TypeError for what is no Uint8Array, RangeError for another length.
 */
export function checkBytes(bytes: Uint8Array, length: number, what: string): void {
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(
      `bytes is ${shown(bytes)}; expected a Uint8Array of ${String(length)} bytes`,
    );
  }
  if (bytes.length !== length) {
    throw new RangeError(`${what} has ${String(length)} bytes, not ${String(bytes.length)}`);
  }
}
