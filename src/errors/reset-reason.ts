/** Reasons of a reset, in the order of the native enumeration (which starts with "none"). */
export const RESET_REASONS = [
  'port-error',
  'lid-change',
  'sm-change',
  'client-reregister',
  'pkey-change',
  'gid-change',
  'membership-lost',
  'address-change',
  'device-removed',
  'group-error',
] as const;

/** Why a membership was reset. */
export type ResetReason = (typeof RESET_REASONS)[number];
