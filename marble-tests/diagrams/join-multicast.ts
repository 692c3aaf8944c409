import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';

/** Joined, then lost: the reset is a value first, then the error; the handle is freed before either. */
export const reset: Diagram = {
  name: 'join-multicast-reset',
  operator: 'joinMulticast$(request)',
  joins: [{ label: 'provider', mgid, attempt: '--j------r', span: '^--------!' }],
  results: [{ label: 'stream', marbles: '        --j------(r#)', error: 'ENETRESET' }],
  legend: { j: 'joined', r: 'reset' },
  code: ({ provider }) => [joinMulticast$({ provider, record: { mgid } })],
};

export const failed: Diagram = {
  name: 'join-multicast-failed',
  operator: 'joinMulticast$(request)',
  joins: [{ label: 'provider', mgid, attempt: '----t', span: '^---!' }],
  results: [{ label: 'stream', marbles: '        ----(t#)', error: 'ETIMEDOUT' }],
  legend: { t: 'error, ETIMEDOUT' },
  code: ({ provider }) => [joinMulticast$({ provider, record: { mgid } })],
};

export const unsubscribed: Diagram = {
  name: 'join-multicast-unsubscribed',
  operator: 'joinMulticast$(request)',
  joins: [{ label: 'provider', mgid, attempt: '--j------r', span: '^-----!' }],
  results: [{ label: 'stream', subscription: '^-----!', marbles: '--j' }],
  legend: { j: 'joined', r: 'reset, not delivered' },
  code: ({ provider }) => [joinMulticast$({ provider, record: { mgid } })],
};
