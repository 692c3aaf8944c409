/** Where in its life a program ends. */
export const steps = [
  'before open',
  'opening',
  'joining',
  'joined',
  'resetting',
  'rejoining',
  'leaving',
  'closed',
] as const;

export type Step = (typeof steps)[number];
