/** The MTUs of the InfiniBand specification in bytes; the code on the wire is the index plus 1. */
export const MTU_BYTES = [256, 512, 1024, 2048, 4096] as const;

/** Rates in Gb/s by their code on the wire. The codes were given as link speeds appeared. */
const RATE_BY_CODE: ReadonlyMap<number, number> = new Map([
  [2, 2.5],
  [3, 10],
  [4, 30],
  [5, 5],
  [6, 20],
  [7, 40],
  [8, 60],
  [9, 80],
  [10, 120],
  [11, 14],
  [12, 56],
  [13, 112],
  [14, 168],
  [15, 25],
  [16, 100],
  [17, 200],
  [18, 300],
  [19, 28],
  [20, 50],
  [21, 400],
  [22, 600],
  [23, 800],
  [24, 1200],
  [25, 1600],
]);

/** The rates of the InfiniBand specification in Gb/s, ascending. */
export const RATES_GBPS: readonly number[] = [...RATE_BY_CODE.values()].sort((a, b) => a - b);

/** The code of an MTU in bytes; `undefined` for others than those of `MTU_BYTES`. */
export function mtuCode(bytes: number): number | undefined {
  const index = MTU_BYTES.findIndex((mtu) => mtu === bytes);
  return index < 0 ? undefined : index + 1;
}

/** The MTU in bytes of a code; 0 for a code that the specification does not define. */
export function mtuBytes(code: number): number {
  return MTU_BYTES[code - 1] ?? 0;
}

/** The code of a rate in Gb/s; `undefined` for others than those of `RATES_GBPS`. */
export function rateCode(gbps: number): number | undefined {
  for (const [code, rate] of RATE_BY_CODE) if (rate === gbps) return code;
  return undefined;
}

/** The rate in Gb/s of a code; 0 for a code that the specification does not define. */
export function rateGbps(code: number): number {
  return RATE_BY_CODE.get(code) ?? 0;
}
