// Random requests of a few ports about a few groups: mostly sensible ones, since most nonsense is
// refused at the first check.
import fc from 'fast-check';
import { MC_MEMBER_FIELDS } from '../../src/records/component-mask.js';
import type { McMemberField } from '../../src/records/component-mask.js';
import { SELECTORS } from '../../src/records/canonical-record.js';
import { FULL, NON, SEND, SEND_FULL } from './sa-mad.js';
import type { Method, SaRequest, WireRecord } from './sa-mad.js';
import { assigned, BROADCAST, CREATION, HALF_PARTITION, IPOIB, elsewhere } from './step.js';
import type { PortName } from './step.js';

export interface RandomRequest extends SaRequest {
  by: PortName;
}

/** One of several values, by weight, in tenths. */
function oneOf<T>(...choices: [weight: number, value: T][]): fc.Arbitrary<T> {
  return fc.oneof(
    ...choices.map(([weight, value]) => ({ weight: weight * 10, arbitrary: fc.constant(value) })),
  );
}

/** The same MGIDs again and again, so that requests meet. `place` takes the sequence's number. */
const mgid = oneOf(
  [4, 'ff12:cafe::place:1'],
  [4, 'ff12:cafe::place:2'],
  [2, 'ff02:cafe::place:3'],
  [2, 'ff15:a01b::place:4'],
  [1, 'ff12:a01b::place:5'],
  [1, 'ff22:cafe::place:6'],
  [2, 'ff12:401b:ffff::place:7'],
  [1, 'ff12:601b:ffff::place:8'],
  [1, 'ff12:401b:8001::place:9'],
  [2, BROADCAST],
  [0.5, '::'],
  [0.5, assigned(1)],
);

const values = fc.record({
  qkey: oneOf([9, CREATION.qkey], [2, IPOIB.qkey], [1, 5]),
  trafficClass: oneOf([9, CREATION.trafficClass], [2, 0], [1, 1]),
  pkey: oneOf([8, 0xffff], [1, 0x7fff], [2, HALF_PARTITION], [1, 0x0001], [0.5, 0x8009], [0.3, 0]),
  sl: oneOf([9, CREATION.sl], [2, 0], [1, 4]),
  flowLabel: oneOf([9, CREATION.flowLabel], [2, 0], [1, 7]),
  hopLimit: oneOf([9, 0], [1, 3]),
  scope: oneOf([5, 0], [4, 2], [1, 5]),
  mlid: oneOf([9, 0], [0.5, 0xc010], [0.2, 0xbfff], [0.3, 0xc001], [0.2, 0xc03f]),
  mtuSelector: fc.constantFrom(...SELECTORS),
  mtuCode: oneOf([5, 4], [2, 3], [2, 2], [1, 1], [1, 5], [0.3, 0], [0.3, 6]),
  rateSelector: fc.constantFrom(...SELECTORS),
  rateCode: oneOf([5, 3], [2, 2], [2, 5], [1, 6], [1, 4], [1, 16], [0.2, 23], [0.2, 1]),
  packetLifeTimeSelector: fc.constantFrom(...SELECTORS),
  packetLifeTime: oneOf([5, 18], [3, 0], [1, 5]),
  proxyJoin: oneOf([9, false], [1, true]),
  joinState: oneOf(
    [8, FULL],
    [3, SEND_FULL],
    [3, SEND],
    [2, NON],
    [1, FULL | NON],
    [2, FULL | SEND],
    [1, FULL | SEND_FULL],
    [1, SEND | SEND_FULL],
    [0.5, 0],
    [0.3, 15],
  ),
});

const CREATION_FIELDS = ['qkey', 'trafficClass', 'pkey', 'sl', 'flowLabel'] as const;

const request: fc.Arbitrary<RandomRequest> = fc
  .record({
    by: oneOf<PortName>([4, 'A'], [3, 'B'], [3, 'C'], [1, 'D']),
    method: oneOf<Method>([10, 'Set'], [8, 'Delete'], [5, 'Get'], [2, 'GetTable']),
    mgid,
    other: oneOf<string | undefined>(
      [20, undefined],
      [1, 'A'],
      [1, 'B'],
      [1, 'C'],
      [0.3, '::'],
      [0.3, elsewhere('A')],
      [0.3, 'fe80::dead:beef'],
    ),
    values,
    trusted: oneOf([6, false], [4, true]),
    creates: oneOf([7, true], [3, false]),
    about: oneOf([6, true], [4, false]),
    added: fc.uniqueArray(fc.constantFrom(...MC_MEMBER_FIELDS.slice(2)), { maxLength: 3 }),
    removed: oneOf<McMemberField | undefined>(
      [40, undefined],
      ...MC_MEMBER_FIELDS.map((field): [number, McMemberField] => [0.2, field]),
    ),
  })
  .map(({ by, method, mgid: group, other, values: fields, trusted, creates, about, ...masks }) => {
    const modifies = method === 'Set' || method === 'Delete';
    const mask = new Set<McMemberField>(['mgid']);
    if (modifies || about) mask.add('portGid');
    if (modifies) mask.add('joinState');
    if (method === 'Set' && creates) for (const field of CREATION_FIELDS) mask.add(field);
    for (const field of masks.added) mask.add(field);
    if (masks.removed !== undefined) mask.delete(masks.removed);
    const record: Partial<WireRecord> = { ...fields, mgid: group, portGid: other ?? by };
    return {
      by,
      method,
      record,
      mask: MC_MEMBER_FIELDS.filter((field) => mask.has(field)),
      smKey: trusted && !modifies ? 1n : 0n,
    };
  });

/** The requests of one sequence, in their order. */
export const requests: fc.Arbitrary<RandomRequest[]> = fc.array(request, {
  minLength: 4,
  maxLength: 24,
});

/** The requests of a sequence about groups that no other sequence touches. */
export function placed(sequence: readonly RandomRequest[], place: number): RandomRequest[] {
  return sequence.map((one) => ({
    ...one,
    record: {
      ...one.record,
      ...(one.record.mgid === undefined
        ? {}
        : { mgid: one.record.mgid.replace('place', place.toString(16)) }),
    },
  }));
}
