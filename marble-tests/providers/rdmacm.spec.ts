import { beforeEach, describe, expect, it, vi } from 'vitest';
import type * as Binding from '../../src/binding/environment.js';
import type { JoinCallback, JoinCompletion, PortInfo } from '../../src/contract/provider.js';
import type { MulticastEvent } from '../../src/contract/event.js';
import type { JoinRequest } from '../../src/contract/request.js';
import { Errno } from '../../src/errors/errno.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { capabilities, listDevices } from '../../src/providers/capabilities.js';
import { rdmacm } from '../../src/providers/rdmacm.js';
import type { McMemberRecord } from '../../src/records/mc-member-record.js';

type Kind = 'umad' | 'rdmacm';

/** What a join was asked for at the addon, and the way to answer it. */
interface Asked {
  readonly kind: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly mgid: string;
  readonly group: string | undefined;
  readonly callback: JoinCallback;
}

/** A machine in place of the addon, since the kernel is tested elsewhere. */
interface Machine {
  ports: Partial<Record<Kind, () => PortInfo[]>>;
  asked: Asked[];
  freed: number;
}

const machine = vi.hoisted((): Machine => ({ ports: {}, asked: [], freed: 0 }));

vi.mock('../../src/binding/environment.js', async (original) => {
  const real = await original<typeof Binding>();
  const environment = {
    discover: (kind: Kind) => machine.ports[kind]?.() ?? [],
    openPort: (kind: string, options: Record<string, unknown>) => {
      const native = {
        removed: false,
        join: (
          _record: unknown,
          mgid: string,
          _mask: bigint,
          callback: JoinCallback,
          group?: string,
        ) => {
          machine.asked.push({ kind, options, mgid, group, callback });
          return new real.NativeHandle(native as never, machine.asked.length, mgid, callback);
        },
        close: () => undefined,
      };
      return native;
    },
    free: () => {
      machine.freed += 1;
    },
  };
  return { ...real, nativeEnvironment: () => environment };
});

function port(device: string, rest: Partial<PortInfo> = {}): PortInfo {
  return {
    device,
    port: 1,
    state: 'active',
    linkLayer: 'ethernet',
    lid: 0,
    smLid: 0,
    smSl: 0,
    gid: 'fe80::1',
    pkeys: [0xffff],
    addresses: ['10.0.0.1'],
    ...rest,
  };
}

function missing(what: string): () => never {
  return () => {
    throw new MulticastError(what, { status: Errno.ENODEV });
  };
}

const RECORD = { mgid: '::ffff:ef01:203', mlid: 0 } as McMemberRecord;

function start(request: JoinRequest) {
  const events: MulticastEvent[] = [];
  const errors: unknown[] = [];
  const subscription = joinMulticast$(request).subscribe({
    next: (event) => events.push(event),
    error: (error: unknown) => errors.push(error),
  });
  return { events, errors, subscription };
}

function failure(request: JoinRequest): MulticastError {
  const { events, errors } = start(request);
  expect(events).toHaveLength(1);
  expect(errors[0]).toBeInstanceOf(MulticastError);
  return errors[0] as MulticastError;
}

function answer(completion: JoinCompletion): void {
  machine.asked.at(-1)?.callback(completion);
}

const group = '239.1.2.3';

beforeEach(() => {
  machine.ports = {
    rdmacm: () => [port('rxe0')],
    umad: missing('libibumad cannot be used'),
  };
  machine.asked = [];
  machine.freed = 0;
});

describe('rdmacm(options)', () => {
  it.each([
    [{ portSpace: 'tcp' }, RangeError, /portSpace is 'tcp'; expected one of 'udp', 'ipoib'/],
    [{ portSpace: 1 }, TypeError, /portSpace is 1/],
    [{ sourceAddress: 'mlx5_0' }, TypeError, /sourceAddress is 'mlx5_0'; expected an IPv4 or IPv6/],
    [{ sourceAddress: 7 }, TypeError, /sourceAddress is 7/],
    [{ sourceAddress: '' }, TypeError, /sourceAddress is ''/],
    [{ exitDrainMs: -1 }, RangeError, /exitDrainMs is -1/],
    [{ ref: 'no' }, TypeError, /ref is 'no'/],
    [{ requestTimeoutMs: 1 }, TypeError, /requestTimeoutMs is no option of rdmacm\(\)/],
  ])('%j', (options, type, message) => {
    const make = (): unknown => rdmacm(options as object);
    expect(make).toThrow(type);
    expect(make).toThrow(message);
  });

  it('reach the addon', () => {
    const provider = rdmacm({ portSpace: 'ipoib', sourceAddress: '10.0.0.1', exitDrainMs: 7 });
    start({ provider, group });
    expect(machine.asked[0]?.options).toMatchObject({
      portSpace: 'ipoib',
      sourceAddress: '10.0.0.1',
      exitDrainMs: 7,
      device: 'rxe0',
      port: 1,
    });
  });
});

describe('a join', () => {
  it('by IP group hands the group over, and tells record and address handle', () => {
    const { events, subscription } = start({ provider: rdmacm(), group });
    expect(machine.asked[0]).toMatchObject({ kind: 'rdmacm', mgid: '::', group });
    const addressHandle = {
      type: 'roce',
      port: 1,
      dlid: 0,
      sl: 0,
      staticRate: 0,
      dmac: '01:00:5e:01:02:03',
      grh: { sgidIndex: 1, dgid: RECORD.mgid, flowLabel: 0, hopLimit: 64, trafficClass: 0 },
    } as const;
    answer({ status: 0, record: RECORD, addressHandle });
    expect(events).toMatchObject([{ type: 'joined', record: RECORD, addressHandle }]);
    subscription.unsubscribe();
    expect(machine.freed).toBe(1);
  });

  it('by MGID hands the MGID over', () => {
    machine.ports.rdmacm = () => [port('rxe0'), port('mlx5_0', { linkLayer: 'infiniband' })];
    start({ provider: rdmacm(), record: { mgid: 'ff12::7' } });
    expect(machine.asked[0]).toMatchObject({ mgid: 'ff12::7', group: undefined });
    expect(machine.asked[0]?.options).toMatchObject({ device: 'mlx5_0' });
  });

  it.each([
    [{ qkey: 1, sl: 2 }, ['qkey', 'sl'], /takes no qkey, sl/],
    [{ portGid: 'fe80::2' }, ['portGid'], /takes no portGid/],
    [{ joinState: 'non-member' }, ['joinState'], /and not as non-member/],
    [
      { joinState: ['full-member', 'send-only-full-member'] },
      ['joinState'],
      /and not as full-member, send-only-full-member/,
    ],
  ] as const)('with %j is refused', (record, fields, message) => {
    const error = failure({ provider: rdmacm(), group, record: record });
    expect(error).toMatchObject({ code: 'EOPNOTSUPP', fields, retryable: false });
    expect(error.message).toMatch(message);
    expect(machine.asked).toEqual([]);
  });

  it('with a component mask of its own is refused', () => {
    const error = failure({ provider: rdmacm(), group, componentMask: 3n });
    expect(error.code).toBe('EOPNOTSUPP');
    expect(error.message).toMatch(/takes no componentMask/);
  });

  it('as a send-only full member is not', () => {
    start({ provider: rdmacm(), group, record: { joinState: 'send-only-full-member' } });
    expect(machine.asked).toHaveLength(1);
  });
});

describe('the port', () => {
  const request = { provider: rdmacm(), group };

  it('is the first active one with an address of the family', () => {
    machine.ports.rdmacm = () => [
      port('rxe0', { state: 'down' }),
      port('rxe1', { addresses: ['fd00::1'] }),
      port('rxe2', { addresses: ['fd00::2', '10.0.0.2'] }),
    ];
    const { subscription } = start({ ...request, provider: rdmacm() });
    expect(machine.asked[0]?.options).toMatchObject({ device: 'rxe2' });
    subscription.unsubscribe();
    start({ ...request, provider: rdmacm(), group: 'ff05::1' });
    expect(machine.asked[1]?.options).toMatchObject({ device: 'rxe1' });
  });

  it('is one without an address where there is no other: the kernel says what is missing', () => {
    machine.ports.rdmacm = () => [port('rxe0', { addresses: [] })];
    start({ ...request, provider: rdmacm() });
    expect(machine.asked[0]?.options).toMatchObject({ device: 'rxe0' });
  });

  it('is taken whatever its state when it is named', () => {
    machine.ports.rdmacm = () => [port('rxe0', { state: 'down' })];
    start({ provider: rdmacm(), device: 'rxe0', port: 1, group });
    expect(machine.asked).toHaveLength(1);
  });

  it.each([
    [
      'an unknown device',
      { device: 'rxe7' },
      [port('rxe0')],
      'ENODEV',
      /no device 'rxe7'; there are rxe0 port 1/,
    ],
    [
      'an unknown port',
      { device: 'rxe0', port: 2 },
      [port('rxe0')],
      'ENODEV',
      /'rxe0' with a port 2/,
    ],
    ['no device', {}, [], 'ENODEV', /no RDMA device was found; there are no devices/],
    ['no active port', {}, [port('rxe0', { state: 'down' })], 'EAGAIN', /no port is active/],
  ] as const)('%s', (_name, wanted, ports, code, message) => {
    machine.ports.rdmacm = () => [...ports];
    const error = failure({ provider: rdmacm(), group, ...wanted });
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it('is that of the source address', () => {
    machine.ports.rdmacm = () => [port('rxe0'), port('rxe1', { addresses: ['10.0.0.2'] })];
    start({ provider: rdmacm({ sourceAddress: '10.0.0.2' }), group });
    expect(machine.asked[0]?.options).toMatchObject({ device: 'rxe1' });
    const error = failure({ provider: rdmacm({ sourceAddress: '10.0.0.3' }), group });
    expect(error).toMatchObject({ code: 'EADDRNOTAVAIL', retryable: true });
  });

  it.each(['fe80::aB', 'fe80:0::AB', 'fe80::ab%eth0', '::ffff:10.0.0.1', '10.0.0.1'])(
    'is that of the source address %s, however it is spelled',
    (sourceAddress) => {
      machine.ports.rdmacm = () => [
        port('rxe0', { addresses: ['10.0.0.2'] }),
        port('rxe1', { addresses: [sourceAddress.includes('.') ? sourceAddress : 'fe80::ab'] }),
      ];
      start({ provider: rdmacm({ sourceAddress }), group });
      expect(machine.asked[0]?.options).toMatchObject({ device: 'rxe1', sourceAddress });
    },
  );
});

describe('what the kernel says', () => {
  it.each([
    [{ status: -5, cause: -1 }, 'error', 'EIO', -1, /join failed \(status -1\), and not why/],
    [{ status: -5, cause: 0 }, 'error', 'EIO', 0, /join failed \(status 0\)/],
    [
      { status: -102, reason: 'group-error', cause: -1 },
      'reset',
      'ENETRESET',
      -1,
      /membership is lost \(status -1\)/,
    ],
    [
      { status: -102, reason: 'address-change' },
      'reset',
      'ENETRESET',
      undefined,
      /address of the interface changed/,
    ],
    [{ status: -102, reason: 'device-removed' }, 'reset', 'ENETRESET', undefined, /lost for good/],
    [{ status: -524 }, 'error', 'UNKNOWN', undefined, /status -524.*RoCE v2 over IPv4 takes IPv4/],
    [{ status: -99 }, 'error', 'EADDRNOTAVAIL', undefined, /no interface of the port has an IPv4/],
    [{ status: -22 }, 'error', 'EINVAL', undefined, /the kernel refuses the group/],
    [{ status: -110 }, 'error', 'ETIMEDOUT', undefined, /no answer in time/],
  ] as const)('%j', (completion, type, code, cause, message) => {
    const { events, errors } = start({ provider: rdmacm(), group });
    answer({ ...completion });
    expect(events).toMatchObject([{ type }]);
    const error = errors[0] as MulticastError;
    expect(error).toMatchObject({ code, status: completion.status });
    expect(error.cause).toBe(cause);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(group);
    expect(machine.freed).toBe(1);
  });

  it('a removed device is not retryable', () => {
    const { errors } = start({ provider: rdmacm(), group });
    answer({ status: -102, reason: 'device-removed' });
    expect(errors).toMatchObject([{ reason: 'device-removed', retryable: false }]);
  });
});

describe('without a provider', () => {
  const chosen = (request: JoinRequest): string =>
    start(request).events[0]?.request.provider.name ?? machine.asked.at(-1)?.kind ?? '';
  const infiniband = () => [port('mlx5_0', { linkLayer: 'infiniband' })];

  it('a group is joined through rdmacm where it can be', () => {
    machine.ports.umad = infiniband;
    expect(chosen({ group })).toBe('rdmacm');
  });

  it('an MGID is joined through umad', () => {
    machine.ports.umad = infiniband;
    machine.ports.rdmacm = infiniband;
    expect(chosen({ record: { mgid: 'ff12::7' } })).toBe('umad');
  });

  it('a group is joined through umad where rdmacm is missing, with the MGID of IPoIB', () => {
    machine.ports.umad = infiniband;
    machine.ports.rdmacm = missing('rdma_cm is missing');
    expect(chosen({ group })).toBe('umad');
    expect(machine.asked[0]).toMatchObject({ mgid: 'ff12:401b:ffff::f01:203' });
  });

  it.each([
    ['no port has an address', [port('rxe0', { addresses: [] })], {}],
    ['the device named is not reached', [port('rxe0')], { device: 'mlx5_0' }],
    ['the record says more than the kernel takes', [port('rxe0')], { record: { qkey: 1 } }],
  ])('a group is joined through umad where %s', (_name, ports, rest) => {
    machine.ports.umad = infiniband;
    machine.ports.rdmacm = () => ports;
    expect(chosen({ group, ...rest })).toBe('umad');
  });

  it('it is ENODEV, and says what was tried, where none is usable', () => {
    machine.ports.rdmacm = missing('rdma_cm is missing');
    const error = failure({ group });
    expect(error.code).toBe('ENODEV');
    expect(error.message).toBe(
      'no provider is usable: rdmacm: rdma_cm is missing. umad: libibumad cannot be used. To try things out without a fabric, pass provider: embeddedFabric()',
    );
    machine.ports.umad = () => [port('rxe0')];
    expect(failure({ record: { mgid: 'ff12::7' } }).message).toMatch(
      /^no provider is usable: umad: no InfiniBand port; there are rxe0 port 1 \(active, ethernet\)\. To try/,
    );
  });
});

describe('capabilities', () => {
  it('says through which addresses rdmacm joins, or why it does not', () => {
    expect(capabilities().rdmacm).toEqual({
      usable: true,
      reason: 'joins through rxe0 port 1 (10.0.0.1)',
    });
    machine.ports.rdmacm = () => [port('rxe0', { addresses: [] })];
    expect(capabilities().rdmacm).toEqual({
      usable: false,
      reason: 'no active port with an IP address: there are rxe0 port 1 (active, ethernet)',
    });
    machine.ports.rdmacm = missing('load the kernel module rdma_ucm');
    expect(capabilities().rdmacm).toEqual({
      usable: false,
      reason: 'load the kernel module rdma_ucm',
    });
  });

  it('devices are listed by either way', () => {
    expect(listDevices()).toMatchObject([{ device: 'rxe0' }]);
    machine.ports.rdmacm = missing('also missing');
    expect(() => listDevices()).toThrow('libibumad cannot be used');
  });
});
