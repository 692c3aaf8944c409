// Questions to the fabric: the same ones to OpenSM and to the embedded fabric, with the same answers;
// and OpenSM's answers as saquery has them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Subscription } from 'rxjs';
import * as page from '../../src/index.js';
import type { EmbeddedFabric } from '../../src/index.js';
import { CliProcess } from '../cli/cli-process.js';
import { askAll } from './ask-all.mjs';
import type { Asked } from './ask-all.mjs';
import { creation, withFabric } from './fabric-test.js';
import type { MemberProcess } from './member-process.js';

/** Two hosts on one fabric, each with a process that joins, registers and asks. */
interface Hosts {
  /** Each host's port. */
  readonly ports: readonly page.PortInfo[];
  ask(host: number, name: string, ...args: unknown[]): Promise<Asked>;
  join(host: number, mgid: string): Promise<page.McMemberRecord | undefined>;
  leave(host: number, mgid: string): Promise<void>;
  register(host: number, service: object): Promise<unknown>;
  unregister(host: number): Promise<void>;
}

const opensm = withFabric({ hosts: 4 });

async function simulated(): Promise<Hosts> {
  const members = [await opensm.member('Hca2'), await opensm.member('Hca3')];
  const at = (host: number): MemberProcess => {
    const member = members[host];
    if (member === undefined) throw new Error('no such host');
    return member;
  };
  const ports = [];
  for (const member of members) {
    const [port] = (await member.command('ports')) as page.PortInfo[];
    if (port !== undefined) ports.push(port);
  }
  return {
    ports,
    ask: async (host, name, ...args) => (await at(host).command('query', { name, args })) as Asked,
    join: async (host, mgid) => {
      await at(host).join(mgid, { record: { mgid, ...creation } });
      return (await at(host).says((said) => said.id === mgid && said.type === 'joined')).record;
    },
    leave: async (host, mgid) => {
      await at(host).leave(mgid);
      await at(host).command('idle');
    },
    register: async (host, service) => {
      await at(host).command('register', { id: 'service', service });
      return (await at(host).says((said) => said.id === 'service')).record;
    },
    unregister: async (host) => {
      await at(host).leave('service');
      await at(host).command('idle');
    },
  };
}

let embedded: EmbeddedFabric;
beforeAll(() => {
  // As the simulator: what fits one MAD.
  embedded = page.embeddedFabric({ ports: 4, rmpp: false });
});
afterAll(async () => {
  await embedded.close();
});

function inProcess(): Hosts {
  const ports = embedded.ports().slice(1, 3);
  const subscriptions = new Map<string, Subscription>();
  const at = (host: number) => ({ device: `embedded${String(host + 1)}`, port: 1 });
  const end = async (name: string): Promise<void> => {
    subscriptions.get(name)?.unsubscribe();
    await embedded.idle?.();
  };
  return {
    ports,
    ask: (host, name, ...args) => {
      const last = args.pop() as object;
      return askAll(page, name, [...args, { ...last, ...at(host) }], embedded);
    },
    join: async (host, mgid) => {
      const joined$ = page.joinMulticast$({
        provider: embedded,
        ...at(host),
        record: { mgid, ...creation },
      });
      return await new Promise((resolve, reject) => {
        subscriptions.set(
          `${String(host)} ${mgid}`,
          joined$.subscribe({
            next: (event) => {
              resolve('record' in event ? event.record : undefined);
            },
            error: reject,
          }),
        );
      });
    },
    leave: (host, mgid) => end(`${String(host)} ${mgid}`),
    register: (host, service) =>
      new Promise((resolve, reject) => {
        subscriptions.set(
          `${String(host)} service`,
          page
            .registerService$({
              ...(service as page.ServiceRegistration),
              serviceId: 0x1000n,
              provider: embedded,
              ...at(host),
            })
            .subscribe({
              next: (event) => {
                resolve('record' in event ? event.record : undefined);
              },
              error: reject,
            }),
        );
      }),
    unregister: (host) => end(`${String(host)} service`),
  };
}

describe.each([
  ['OpenSM', simulated],
  ['the embedded fabric', () => Promise.resolve(inProcess())],
])('%s', (_name, start) => {
  it('knows the path between two hosts', async () => {
    const hosts = await start();
    const [from, to] = hosts.ports;
    expect(await hosts.ask(0, 'queryPath$', { sgid: from?.gid, dgid: to?.gid })).toEqual({
      records: [
        {
          type: 'infiniband',
          serviceId: '0n',
          dgid: to?.gid,
          sgid: from?.gid,
          dlid: to?.lid,
          slid: from?.lid,
          rawTraffic: false,
          flowLabel: 0,
          hopLimit: 0,
          trafficClass: 0,
          reversible: true,
          numbPath: 0,
          pkey: 0xffff,
          qosClass: 0,
          sl: 0,
          mtu: 2048,
          mtuCode: 4,
          mtuSelector: 'exactly',
          rate: 10,
          rateCode: 3,
          rateSelector: 'exactly',
          packetLifeTime: 18,
          packetLifeTimeSelector: 'exactly',
          preference: 0,
        },
      ],
    });
  });

  it('knows no path to nobody, and refuses what contradicts itself', async () => {
    const hosts = await start();
    const [from, to] = hosts.ports;
    const sgid = from?.gid;
    expect(await hosts.ask(0, 'queryPath$', { sgid, dgid: 'fe80::dead' })).toEqual({ records: [] });
    expect(
      await hosts.ask(0, 'queryPath$', { sgid, dgid: to?.gid, dlid: from?.lid }),
    ).toMatchObject({
      records: [],
      code: 'EINVAL',
    });
    expect(await hosts.ask(0, 'queryPath$', { sgid, dgid: to?.gid, mtu: 4096 })).toEqual({
      records: [],
    });
  });

  it('says when there are more paths than one MAD holds', async () => {
    const hosts = await start();
    const asked = await hosts.ask(0, 'queryPath$', { sgid: hosts.ports[0]?.gid });
    expect(asked.code).toBe('EMSGSIZE');
    expect(asked.records).toHaveLength(3);
    expect(asked.message).toMatch(/more records than the 3 that the transport could carry/);
  });

  it('lists groups, up to three in one MAD, and then says so', async () => {
    const hosts = await start();
    const broadcast = 'ff12:401b:ffff::ffff:ffff';
    const listed = async (): Promise<[unknown[], string | undefined]> => {
      const { records, code } = await hosts.ask(1, 'queryGroups$', {});
      return [records.map((record) => record['mgid']), code];
    };
    expect(await listed()).toEqual([[broadcast], undefined]);
    for (const mgid of ['ff12:cafe::1', 'ff12:cafe::2']) await hosts.join(0, mgid);
    expect(await listed()).toEqual([[broadcast, 'ff12:cafe::1', 'ff12:cafe::2'], undefined]);
    await hosts.join(0, 'ff12:cafe::3');
    expect(await listed()).toEqual([[broadcast, 'ff12:cafe::1', 'ff12:cafe::2'], 'EMSGSIZE']);
    for (const index of [1, 2, 3]) await hosts.leave(0, `ff12:cafe::${String(index)}`);
    expect(await listed()).toEqual([[broadcast], undefined]);
  });

  it('tells the members of a group to those who have the key', async () => {
    const hosts = await start();
    const mgid = 'ff12:cafe::7';
    await hosts.join(0, mgid);
    await hosts.join(1, mgid);
    const untold = await hosts.ask(1, 'queryMembers$', mgid, {});
    expect(untold.records).toMatchObject([{ mgid, portGid: '::', joinState: [] }]);
    const told = await hosts.ask(1, 'queryMembers$', mgid, { smKey: '1n' });
    expect(told.records.map((record) => record['portGid']).sort()).toEqual(
      hosts.ports.map((port) => port.gid).sort(),
    );
    expect(told.records).toMatchObject([
      { joinState: ['full-member'] },
      { joinState: ['full-member'] },
    ]);
    await hosts.leave(0, mgid);
    await hosts.leave(1, mgid);
    expect(await hosts.ask(1, 'queryMembers$', mgid, { smKey: '1n' })).toEqual({ records: [] });
  });

  it('lists its GID table with a port, in which a joined record has its source', async () => {
    const hosts = await start();
    const mgid = 'ff12:cafe::8';
    const record = await hosts.join(0, mgid);
    const [own, other] = hosts.ports;
    if (record === undefined || own === undefined || other === undefined)
      throw new Error('no port');
    expect(own.gids).toEqual([own.gid]);
    expect(page.addressHandleFromMcMember(record, own)).toMatchObject({
      type: 'infiniband',
      port: 1,
      dlid: record.mlid,
      grh: { sgidIndex: 0, dgid: mgid },
    });
    expect(() => page.addressHandleFromMcMember(record, other)).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    );
    await hosts.leave(0, mgid);
  });

  it('keeps a service from its registration to its end, findable from elsewhere', async () => {
    const hosts = await start();
    const service = { serviceId: '4096n', name: 'market data', data8: [1, 2], leaseSeconds: 2 };
    const record = await hosts.register(0, service);
    const expected = {
      serviceGid: hosts.ports[0]?.gid,
      name: 'market data',
      pkey: 0xffff,
      leaseSeconds: 2,
    };
    expect(record).toMatchObject(expected);
    const find = async (): Promise<Asked> =>
      await hosts.ask(1, 'queryServices$', { name: 'market data' });
    expect((await find()).records).toMatchObject([{ ...expected, serviceId: '4096n' }]);
    // It outlives its lease, since that is renewed.
    for (let i = 0; i < 5; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect((await find()).records).toHaveLength(1);
    }
    await hosts.unregister(0);
    expect(await find()).toEqual({ records: [] });
  });

  it('knows no path to a LID that nobody has', async () => {
    const hosts = await start();
    const [from, to] = hosts.ports;
    expect(await hosts.ask(0, 'queryPath$', { sgid: from?.gid, dgid: to?.gid, dlid: 99 })).toEqual({
      records: [],
    });
  });

  it('answers 1,000 path queries made at once', async () => {
    const hosts = await start();
    const [from, to] = hosts.ports;
    const started = performance.now();
    const all = await Promise.all(
      Array.from({ length: 1000 }, () =>
        hosts.ask(0, 'queryPath$', { sgid: from?.gid, dgid: to?.gid }),
      ),
    );
    const seconds = (performance.now() - started) / 1000;
    console.log(`${_name}: ${(1000 / seconds).toFixed(0)} path queries per second`);
    expect(all.filter((one) => one.code !== undefined)).toEqual([]);
    expect(all.every((one) => one.records.length === 1)).toBe(true);
  });
});

describe('beside saquery', () => {
  it('queryPath$ gives the same path, field by field', async () => {
    const hosts = await simulated();
    const [from, to] = hosts.ports;
    const [asked] = (await hosts.ask(0, 'queryPath$', { sgid: from?.gid, dgid: to?.gid })).records;
    const [known] = await opensm.fabric.records(
      'Hca4',
      '--sgid-to-dgid',
      `${from?.gid ?? ''}-${to?.gid ?? ''}`,
    );
    const number = (name: string): number => Number(known?.[name]);
    expect({
      sgid: known?.['sgid'],
      dgid: known?.['dgid'],
      slid: number('slid'),
      dlid: number('dlid'),
      serviceId: `${String(number('service_id'))}n`,
      hopLimit: number('hop_flow_raw') & 0xff,
      flowLabel: (number('hop_flow_raw') >> 8) & 0xfffff,
      trafficClass: number('tclass'),
      reversible: number('num_path_revers') >> 7 === 1,
      numbPath: number('num_path_revers') & 0x7f,
      pkey: number('pkey'),
      qosClass: number('qos_class'),
      sl: number('sl'),
      mtuCode: number('mtu') & 0x3f,
      rateCode: number('rate') & 0x3f,
      packetLifeTime: number('pkt_life') & 0x3f,
      preference: number('preference'),
    }).toEqual(
      Object.fromEntries(
        (
          'sgid dgid slid dlid serviceId hopLimit flowLabel trafficClass reversible numbPath pkey ' +
          'qosClass sl mtuCode rateCode packetLifeTime preference'
        )
          .split(' ')
          .map((name) => [name, asked?.[name]]),
      ),
    );
  });

  it('queryGroups$ and queryMembers$ give the same groups and members', async () => {
    const hosts = await simulated();
    await hosts.join(0, 'ff12:cafe::1');
    await hosts.join(1, 'ff12:cafe::1');
    const groups = (await hosts.ask(0, 'queryGroups$', {})).records;
    const known = await opensm.fabric.records('Hca4', '-g');
    expect(
      groups.map((group) => [group['mgid'], group['mlid'], group['pkey'], group['sl']]),
    ).toEqual(
      known.map((group) => [
        group['MGID'],
        Number(group['Mlid']),
        Number(group['pkey']),
        Number(group['SL']),
      ]),
    );
    const members = (await hosts.ask(0, 'queryMembers$', 'ff12:cafe::1', { smKey: '1n' })).records;
    const listed = (await opensm.fabric.records('Hca4', '--smkey', '1', '-m')).filter(
      (member) => member['MGID'] === 'ff12:cafe::1',
    );
    expect(members.map((member) => [member['portGid'], member['mlid']])).toEqual(
      listed.map((member) => [(member['PortGid'] ?? '').split(' ')[0], Number(member['Mlid'])]),
    );
    expect(members).toHaveLength(2);
    await hosts.leave(0, 'ff12:cafe::1');
    await hosts.leave(1, 'ff12:cafe::1');
  });
});

describe('the command line at OpenSM', () => {
  const run = (host: string, ...args: string[]): CliProcess =>
    new CliProcess(args, opensm.fabric.env(host));

  it('finds a service of another process, gone after SIGTERM', async () => {
    const registering = run('Hca2', 'service', 'register', '0x2000', '--name', 'mine', '--json');
    await registering.lines(1);
    expect(registering.events).toMatchObject([{ type: 'joined', record: { name: 'mine' } }]);
    const find = async (): Promise<[number | null, unknown[]]> => {
      const finding = run('Hca3', 'service', 'find', '--service-id', '0x2000', '--json');
      const { code } = await finding.ended;
      return [code, finding.events];
    };
    expect(await find()).toMatchObject([0, [{ serviceId: '0x2000', name: 'mine' }]]);
    registering.signal('SIGTERM');
    const { code, stderr } = await registering.ended;
    expect([code, stderr]).toEqual([143, '']);
    expect(await find()).toEqual([0, []]);
  });

  it('lists groups and paths in aligned tables', async () => {
    const groups = await run('Hca2', 'groups').ended;
    expect(groups).toMatchObject({ code: 0, stderr: '' });
    expect(groups.stdout).toBe(
      'MGID                       MLID    MTU   RATE     Q_KEY  P_KEY   SL\n' +
        'ff12:401b:ffff::ffff:ffff  0xc000  2048  10 Gb/s  0xb1b  0xffff  0\n',
    );
    const path = await run('Hca2', 'path', 'fe80::10:3', 'fe80::10:5').ended;
    expect(path.stdout).toMatch(
      /^SGID +DGID +SLID +DLID +MTU +RATE +LIFETIME +P_KEY +SL\nfe80::10:3 /,
    );
    const nothing = await run('Hca2', 'members', 'ff12:cafe::77').ended;
    expect(nothing).toMatchObject({ code: 0, stdout: 'none\n', stderr: '' });
  });

  it('joins with the fields of the broadcast group', async () => {
    const joined = run('Hca2', 'join', 'ff12:cafe::55', '--inherit', '--until', 'joined', '--json');
    const { code } = await joined.ended;
    expect(code).toBe(0);
    expect(joined.events).toMatchObject([
      { type: 'joined', record: { qkey: 0xb1b, pkey: 0xffff, mtu: 2048, rate: 10 } },
    ]);
  });
});
