import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { joinMulticastAll$ } from '../../src/operators/join-multicast-all.js';
import type { Diagram } from './diagram.js';

const a = 'ff12::a';
const b = 'ff12::b';
const c = 'ff12::c';

/** The name of the group, in capitals when it failed. */
function names(source$: Observable<{ context: string; type: string }>): Observable<string> {
  return source$.pipe(
    map(({ context, type }) => (type === 'joined' ? context : context.toUpperCase())),
  );
}

/** One group fails, which ends that group alone; the stream ends with the last. */
export const all: Diagram = {
  name: 'join-multicast-all',
  operator: 'joinMulticastAll$([a, b, c])',
  joins: [
    { label: 'ff12::a', mgid: a, attempt: '-j-------r', span: '^--------!' },
    { label: 'ff12::b', mgid: b, attempt: '---t      ', span: '^--!' },
    { label: 'ff12::c', mgid: c, attempt: '--j----r  ', span: '^------!' },
  ],
  results: [{ label: 'stream', marbles: '          -acB---C-(A|)' }],
  legend: { a: 'a joined', A: 'a failed', j: 'joined', r: 'reset', t: 'error, ETIMEDOUT' },
  code: ({ provider }) => [
    names(
      joinMulticastAll$(
        [a, b, c].map((mgid) => ({ provider, record: { mgid }, context: mgid.slice(-1) })),
      ),
    ),
  ],
};

const sets = '1---2---3';

/** The set of groups changes at run time. */
export const changing: Diagram = {
  name: 'join-multicast-all-sets',
  operator: 'joinMulticastAll$(sets$)',
  inputs: [{ label: 'sets$', marbles: sets }],
  joins: [
    { label: 'ff12::a', mgid: a, attempt: '-j', span: '^-------!' },
    { label: 'ff12::b', mgid: b, attempt: '-j', span: '----^-------!' },
    { label: 'ff12::c', mgid: c, attempt: '-j', span: '--------^---!' },
  ],
  results: [{ label: 'stream', subscription: '^-----------!', marbles: '-a---b---c' }],
  legend: { '1': '{ a }', '2': '{ a, b }', '3': '{ b, c }', a: 'a joined', j: 'joined' },
  code: ({ provider, helpers }) => {
    const request = (mgid: string) => ({ provider, record: { mgid }, context: mgid.slice(-1) });
    const sets$ = helpers.cold(sets, {
      '1': [request(a)],
      '2': [request(a), request(b)],
      '3': [request(b), request(c)],
    });
    return [names(joinMulticastAll$(sets$))];
  },
};
