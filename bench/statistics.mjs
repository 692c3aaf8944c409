/** The value below which so much of a list lies. */
export function quantile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))];
}

export const median = (values) => quantile(values, 0.5);

/** The middle half: first and third quartile. */
export const spread = (values) => [quantile(values, 0.25), quantile(values, 0.75)];
