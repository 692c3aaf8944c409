import { inspect } from 'node:util';

/** A value as an error message shows it. Never throws, whatever the value does when it is converted. */
export function shown(value: unknown): string {
  try {
    return inspect(value, { depth: 0, maxStringLength: 100, customInspect: false });
  } catch {
    return `a value of type ${typeof value}`;
  }
}
