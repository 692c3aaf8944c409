export { marbleEqual } from './marble-equal.js';
export { marbleProvider } from './marble-provider.js';
export type {
  MarbleHelpers,
  MarbleProvider,
  MarbleProviderOptions,
  Spans,
} from './marble-provider.js';
export type { Attempt, MarbleScript } from './script.js';
export type { LetterCompletion } from './letters.js';
export { joinedRecord } from './joined-record.js';
