import { describe, expect, it } from 'vitest';
import {
  addressHandleFromMcMember,
  embeddedFabric,
  groupEvents$,
  joinMulticast$,
  joinMulticastAll$,
  packMcMemberRecord,
  packPathRecord,
  packServiceRecord,
  queryGroups$,
  queryMembers$,
  queryPath$,
  queryServices$,
  rdmacm,
  registerSaClient,
  registerService$,
  rejoinOnReset,
  shareMembership,
  trackMembership,
  umad,
  unpackMcMemberRecord,
  unpackPathRecord,
  unpackServiceRecord,
} from '../../src/index.js';

/** What says nothing of itself but by throwing. */
const mute = {
  toString: (): never => {
    throw new Error('asked for its text');
  },
};
const trapped = new Proxy(
  {},
  {
    get: (_target, key) => {
      if (typeof key !== 'symbol' && !['toString', 'valueOf'].includes(key)) return undefined;
      throw new Error('asked for its text');
    },
  },
);
const tagged = {
  get [Symbol.toStringTag](): never {
    throw new Error('asked for its tag');
  },
};

/** No option and no field of the package takes any of these. */
const WRONG: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a symbol', Symbol('s')],
  ['an object without a prototype', Object.create(null)],
  ['an object that throws when it is shown', mute],
  ['a proxy that throws when it is shown', trapped],
  ['an object whose tag throws', tagged],
  ['NaN', NaN],
  ['a negative bigint', -1n],
  ['a list of a list', [['full-member']]],
];

const sa = (
  'requestTimeoutMs attempts maxOutstanding auditIntervalMs staleLeaveMs probe pollIntervalMs ' +
  'exitDrainMs ref'
).split(' ');
const record = (
  'mgid portGid qkey mlid mtu mtuSelector trafficClass pkey rate rateSelector packetLifeTime ' +
  'packetLifeTimeSelector sl flowLabel hopLimit scope joinState proxyJoin'
).split(' ');
const service = 'serviceGid pkey leaseSeconds key name data8 data16 data32 data64'.split(' ');
const place = ['provider', 'client', 'device', 'port'];

/** What a subscription ends with; nothing may come before it. */
function endOf(source: { subscribe(observer: object): unknown }): never {
  let end: unknown = new Error('it did not end');
  source.subscribe({
    next: () => (end = new Error('there was an event')),
    error: (error: unknown) => (end = error),
  });
  throw end;
}

describe('misuse', () => {
  const fabric = embeddedFabric({ clock: 'manual' });
  const client = registerSaClient({ provider: fabric });
  const at = { provider: fabric };

  /** Calls, each with the names of the fields that it takes. */
  const CALLS: readonly (readonly [string, (given: object) => unknown, readonly string[]])[] = [
    ['umad', umad, sa],
    ['rdmacm', rdmacm, ['portSpace', 'sourceAddress', 'exitDrainMs', 'ref']],
    [
      'embeddedFabric',
      embeddedFabric,
      [
        ...sa,
        ...'ports clock mlidPool groupsPerMlid delayMs serviceRate seed pkeys rmpp'.split(' '),
      ],
    ],
    ['client', (given) => fabric.client(given), sa],
    [
      'rejoinOnReset',
      rejoinOnReset,
      'initialDelayMs maxDelayMs jitter graceMs stableMs maxOutageMs retryInitial random scheduler'.split(
        ' ',
      ),
    ],
    ['shareMembership', shareMembership, ['lingerMs', 'scheduler']],
    ['trackMembership', trackMembership, ['scheduler']],
    [
      'joinMulticastAll$',
      (given) => endOf(joinMulticastAll$([], given)),
      ['concurrency', 'each', 'key'],
    ],
    [
      'joinMulticast$',
      (given) => endOf(joinMulticast$({ record: { mgid: 'ff12::1' }, ...at, ...given })),
      [...place, 'record', 'group', 'componentMask', 'inherit', 'joinTimeoutMs', 'scheduler'],
    ],
    [
      'record',
      (given) => endOf(joinMulticast$({ ...at, record: { mgid: 'ff12::1', ...given } })),
      record,
    ],
    ['registerSaClient', registerSaClient, ['provider', 'device', 'port']],
    ['unregister', (given) => registerSaClient(at).unregister(given), ['timeoutMs']],
    [
      'mcMemberRecord',
      ({ mgid }: { mgid?: string }) => client.mcMemberRecord(mgid as string),
      ['mgid'],
    ],
    [
      'queryPath$',
      (given) => endOf(queryPath$({ ...at, ...given })),
      [...place, 'smKey', 'truncated', 'sgid', 'dgid', 'mtu', 'rate', 'numbPath', 'serviceId'],
    ],
    ['queryGroups$', (given) => endOf(queryGroups$({ ...at, ...given })), [...place, 'smKey']],
    [
      'queryMembers$',
      ({ mgid }: { mgid?: string }) => endOf(queryMembers$(mgid as string, at)),
      ['mgid'],
    ],
    [
      'queryServices$',
      (given) => endOf(queryServices$({ ...at, ...given })),
      [...place, ...service],
    ],
    [
      'registerService$',
      (given) => endOf(registerService$({ ...at, serviceId: 1n, ...given })),
      [...place, 'serviceId', ...service],
    ],
    [
      'groupEvents$',
      ({ client }: { client?: never }) => endOf(groupEvents$(client as never)),
      ['client'],
    ],
    ['setLoss', (given) => fabric.setLoss(given), ['request', 'reply']],
    ['restartSm', (given) => fabric.restartSm(given), ['reregister']],
    ['answerWith', ({ method }: { method?: never }) => fabric.answerWith(1, 1, method), ['method']],
    [
      'setPkeys',
      ({ pkeys }: { pkeys?: never }) => fabric.setPkeys('embedded0', pkeys as never),
      ['pkeys'],
    ],
    ['takeover', ({ smLid }: { smLid?: never }) => fabric.takeover(smLid as never), ['smLid']],
    ...[unpackMcMemberRecord, unpackPathRecord, unpackServiceRecord].map(
      (unpack) =>
        [
          unpack.name,
          ({ bytes }: { bytes?: never }): unknown => unpack(bytes as never),
          ['bytes'],
        ] as const,
    ),
    ...[packMcMemberRecord, packPathRecord, packServiceRecord].map(
      (pack) =>
        [
          pack.name,
          ({ record }: { record?: never }): unknown => pack({ pkey: record as never }),
          ['record'],
        ] as const,
    ),
    [
      'addressHandleFromMcMember',
      ({ portGid }: { portGid?: never }) =>
        addressHandleFromMcMember({ portGid } as never, { port: 1, gids: [] } as never),
      ['portGid'],
    ],
  ];

  for (const [name, call, fields] of CALLS) {
    it.each(fields)(`of ${name}: %s names the field, whatever it is given`, (field) => {
      for (const [what, wrong] of WRONG) {
        let thrown: unknown;
        try {
          call({ [field]: wrong });
        } catch (error) {
          thrown = error;
        }
        expect([what, thrown]).toEqual([what, expect.any(Error)]);
        const { constructor, message } = thrown as Error;
        expect([what, constructor === TypeError || constructor === RangeError]).toEqual([
          what,
          true,
        ]);
        expect(message).toContain(name.startsWith('pack') ? 'pkey' : field);
        expect(message).toMatch(/expected|options:|fields:|made by|beside client/);
      }
    });
  }

  it('is a text that can be read, also of what is endless', () => {
    expect(() => umad({ probe: 'x'.repeat(100_000) as never })).toThrow(
      /^probe is 'x{100}'\.\.\. /,
    );
    expect(() => fabric.setPkeys('embedded0', Array<number>(200_000).fill(1))).toThrow(
      new RangeError('pkeys has 200000 elements; expected at most 65535'),
    );
    const whole = {
      get length(): never {
        throw new Error('never asked');
      },
    };
    expect(() => umad({ attempts: whole as never })).toThrow(TypeError);
    expect(() => umad([] as never)).toThrow(TypeError);
  });

  it('of whole arguments: none is taken for one without fields', () => {
    for (const wrong of [null, [], 7, 'x', Symbol('s')] as never[]) {
      expect(() => umad(wrong)).toThrow(TypeError);
      expect(() => registerSaClient(at).unregister(wrong)).toThrow(TypeError);
      expect(() => endOf(queryServices$(wrong))).toThrow(TypeError);
      expect(() => endOf(queryGroups$(wrong))).toThrow(TypeError);
      expect(() => endOf(registerService$(wrong))).toThrow(TypeError);
      expect(() => endOf(joinMulticast$(wrong))).toThrow(TypeError);
      expect(() => packPathRecord(wrong)).toThrow(TypeError);
      expect(() => packServiceRecord(wrong)).toThrow(TypeError);
      expect(() => addressHandleFromMcMember(wrong, wrong)).toThrow(TypeError);
    }
    expect(() => registerSaClient(at).unregister({ timeoutMS: 5 } as never)).toThrow(
      /timeoutMS is no option of unregister\(\); options: timeoutMs/,
    );
    expect(() => endOf(registerService$({ ...at, serviceId: 1n, leaseSeconds: 0 }))).toThrow(
      /^leaseSeconds is 0; expected an integer from 1 /,
    );
  });

  it('leaves nothing behind', () => {
    expect(fabric.stats().handlesAlive).toBe(0);
    expect(fabric.members()).toEqual([]);
  });
});
