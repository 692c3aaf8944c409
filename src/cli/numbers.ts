/**
 * A number of the command line, decimal (`10`, `2.5`) or hexadecimal (`0xb1b`); `undefined` for any
 * other text. Its range is for its field to check.
 */
export function parseNumber(text: string): number | undefined {
  if (!/^-?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)$/.test(text)) return undefined;
  // Number() knows no sign before hexadecimal digits.
  return text.startsWith('-') ? -Number(text.slice(1)) : Number(text);
}

/** A number in hexadecimal with at least so many digits. */
export function hex(value: number, digits = 1): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}
