import type { JoinCompletion } from '../contract/provider.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import { Errno } from '../errors/errno.js';
import { joinedRecord } from './joined-record.js';

/** A completion, or a function that makes one for the join at hand. */
export type LetterCompletion = JoinCompletion | ((request: ResolvedJoinRequest) => JoinCompletion);

/** The letters of a provider's diagrams and the codes that they stand for. */
export const LETTER_CODES = {
  j: 'joined',
  r: 'ENETRESET',
  t: 'ETIMEDOUT',
  e: 'EIO',
  i: 'EINVAL',
  a: 'EAGAIN',
  n: 'EADDRNOTAVAIL',
  d: 'ENODEV',
} as const;

/** What the letters make a provider report. */
export const LETTER_COMPLETIONS: Readonly<Record<string, LetterCompletion>> = {
  j: (request) => ({ status: 0, record: joinedRecord(request) }),
  r: { status: Errno.ENETRESET, reason: 'client-reregister' },
  t: { status: Errno.ETIMEDOUT },
  e: { status: Errno.EIO },
  i: { status: Errno.EINVAL },
  a: { status: Errno.EAGAIN },
  n: { status: Errno.EADDRNOTAVAIL },
  d: { status: Errno.ENODEV },
};
