import type { JoinState } from './mc-member-record.js';

/** The join states in the order of their bits, from bit 0. */
export const JOIN_STATES = [
  'full-member',
  'non-member',
  'send-only-non-member',
  'send-only-full-member',
] as const satisfies readonly JoinState[];

// Sixteen combinations of four bits: shared, since nobody may change them.
const SETS: readonly (readonly JoinState[])[] = Array.from({ length: 16 }, (_, bits) =>
  Object.freeze(JOIN_STATES.filter((_state, bit) => (bits >> bit) & 1)),
);

/** The join states of four bits, frozen and in the order of the bits. */
export function joinStatesOf(bits: number): readonly JoinState[] {
  return SETS[bits & 15] ?? [];
}

/** The bits of one or several join states. */
export function joinStateBits(states: JoinState | readonly JoinState[] = 'full-member'): number {
  if (typeof states === 'string') return 1 << JOIN_STATES.indexOf(states);
  let bits = 0;
  for (const state of states) bits |= 1 << JOIN_STATES.indexOf(state);
  return bits;
}
