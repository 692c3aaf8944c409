import { joinMulticast } from '../../src/observable/membership.js';
import type { Diagram } from './diagram.js';

const mgid = 'ff12::1';

export const lost: Diagram = {
  name: 'join-multicast-promise-lost',
  operator: 'joinMulticast(request)',
  joins: [{ label: 'provider', mgid, attempt: '--j------r', span: '^--------!' }],
  results: [
    { label: 'await joinMulticast(…)', marbles: '--(m|)' },
    { label: 'await membership.lost', marbles: ' ---------(e|)' },
  ],
  values: { m: 'membership', e: 'ENETRESET' },
  legend: { j: 'joined', r: 'reset', m: 'membership', e: 'MulticastError' },
  promises: true,
  code: ({ provider }) => {
    const membership = joinMulticast({ provider, record: { mgid }, joinTimeoutMs: Infinity });
    return [
      membership.then(() => 'membership'),
      membership.then(({ lost }) => lost).then((error) => error?.code),
    ];
  },
};

export const left: Diagram = {
  name: 'join-multicast-promise-left',
  operator: 'joinMulticast(request), membership.leave()',
  joins: [{ label: 'provider', mgid, attempt: '--j------r', span: '^-----!' }],
  results: [
    { label: 'await joinMulticast(…)', marbles: '--(m|)' },
    { label: 'await membership.lost', marbles: ' ------(u|)' },
  ],
  values: { m: 'membership', u: undefined },
  legend: { j: 'joined', r: 'reset, not delivered', m: 'membership', u: 'undefined' },
  promises: true,
  code: ({ provider, at }) => {
    const membership = joinMulticast({ provider, record: { mgid }, joinTimeoutMs: Infinity });
    at(6, () => {
      void membership.then((joined) => joined.leave());
    });
    return [
      membership.then(() => 'membership'),
      membership.then(({ lost }) => lost).then((error) => error?.code),
    ];
  },
};
