import { describe, expect, it } from 'vitest';
import { creation, withFabric } from './fabric-test.js';

// A real OpenSM, told and asked by processes on simulated hosts.
describe('joining at OpenSM', () => {
  const at = withFabric({ hosts: 4 });

  it('joins with the MLID that OpenSM assigned, and leaves', async () => {
    const member = await at.member();
    await member.join('a', { record: { mgid: 'ff12:cafe::10', ...creation } });
    const joined = await member.says((said) => said.type === 'joined');
    const [group] = (await at.fabric.groups()).filter(({ mgid }) => mgid === 'ff12:cafe::10');
    expect(joined.record).toMatchObject({
      mgid: 'ff12:cafe::10',
      qkey: 0xb1b,
      pkey: 0xffff,
      joinState: ['full-member'],
    });
    expect(joined.record?.mlid).toBe(group?.mlid);
    expect(group?.members).toEqual([{ portGid: joined.record?.portGid, joinState: 1 }]);
    await member.leave('a');
    await member.command('idle');
    expect(await at.groups()).toEqual([]);
    expect((await member.finish()).code).toBe(0);
  });

  it('names the fields that creating a group lacks', async () => {
    const member = await at.member();
    await member.join('a', { record: { mgid: 'ff12:cafe::11', qkey: 1 } });
    const error = await member.says((said) => said.type === 'error');
    expect(error).toMatchObject({
      code: 'EINVAL',
      saStatusName: 'INSUFFICIENT_COMPONENTS',
      fields: ['trafficClass', 'pkey', 'sl', 'flowLabel'],
    });
    await member.finish();
  });

  it('names the field that differs, from another host and from a second handle', async () => {
    const first = await at.member('Hca2');
    const second = await at.member('Hca3');
    const record = { mgid: 'ff12:cafe::12', ...creation };
    await first.join('mine', { record });
    await first.says((said) => said.type === 'joined');

    await second.join('theirs', { record: { ...record, qkey: 7 } });
    expect(await second.says((said) => said.type === 'error')).toMatchObject({
      code: 'EINVAL',
      saStatusName: 'REQ_INVALID',
      fields: ['qkey'],
    });

    const { saRequests } = await first.stats();
    await first.join('again', { record: { ...record, qkey: 7 } });
    const local = await first.says((said) => said.type === 'error');
    expect(local).toMatchObject({ code: 'EINVAL', fields: ['qkey'] });
    expect(local.saStatusName).toBeUndefined();
    expect((await first.stats()).saRequests).toBe(saRequests);

    expect(first.words('mine')).toEqual(['joined']);
    await first.leave('mine');
    await first.finish();
    await second.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('shares a group on one port: no Delete for the first to go, exactly one for the last', async () => {
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::13', ...creation } };
    await member.join('a', request);
    await member.join('b', request);
    await member.says((said) => said.id === 'b' && said.type === 'joined');
    expect(await member.stats()).toMatchObject({ joinsSent: 1, joined: 2 });
    await member.leave('a');
    await member.command('idle');
    expect(await member.stats()).toMatchObject({ leavesSent: 0, handlesAlive: 1 });
    expect(await at.groups()).toEqual(['ff12:cafe::13']);
    await member.leave('b');
    await member.command('idle');
    expect(await member.stats()).toMatchObject({ leavesSent: 1, handlesAlive: 0 });
    expect(await at.groups()).toEqual([]);
    await member.finish();
  });

  it('says nothing and leaves nothing when unsubscribed during the join', async () => {
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::14', ...creation } };
    await member.command('together', {
      list: [
        { do: 'join', id: 'a', request },
        { do: 'leave', id: 'a' },
      ],
    });
    // Once more, with the request certainly on its way.
    await member.join('b', request);
    await member.leave('b');
    await member.command('idle');
    expect(member.words('a')).toEqual([]);
    expect(await at.groups()).toEqual([]);
    await member.finish();
  });

  it('is still a member after unsubscribing and resubscribing in one tick', async () => {
    const member = await at.member();
    const request = { record: { mgid: 'ff12:cafe::15', ...creation } };
    await member.join('a', request);
    await member.says((said) => said.id === 'a' && said.type === 'joined');
    await member.command('together', {
      list: [
        { do: 'leave', id: 'a' },
        { do: 'join', id: 'b', request },
      ],
    });
    await member.says((said) => said.id === 'b' && said.type === 'joined');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(member.words('b')).toEqual(['joined']);
    expect(await at.groups()).toEqual(['ff12:cafe::15']);
    await member.leave('b');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('has OpenSM assign an MGID, a new one each time', async () => {
    const member = await at.member();
    const request = { record: { mgid: '::', ...creation } };
    await member.join('a', request);
    await member.join('b', request);
    const a = await member.says((said) => said.id === 'a' && said.type === 'joined');
    const b = await member.says((said) => said.id === 'b' && said.type === 'joined');
    expect(a.record?.mgid).toMatch(/^ff12:a01b:/);
    expect(b.record?.mgid).not.toBe(a.record?.mgid);
    expect(await at.groups()).toEqual([a.record?.mgid, b.record?.mgid].sort());
    await member.leave('a');
    await member.leave('b');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('joins an IP group through the MGID of IPoIB', async () => {
    const member = await at.member();
    await member.join('a', { group: '239.1.2.3', record: { ...creation, pkey: 0x7fff } });
    const joined = await member.says((said) => said.type !== 'done' && said.id === 'a');
    expect(joined).toMatchObject({ type: 'joined', record: { mgid: 'ff12:401b:ffff::f01:203' } });
    await member.leave('a');
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });

  it('gives ENODEV for an unknown device, and names what exists', async () => {
    const member = await at.member();
    await member.join('a', { device: 'mlx5_7', record: { mgid: 'ff12:cafe::16' } });
    const error = await member.says((said) => said.type === 'error');
    expect(error.code).toBe('ENODEV');
    expect(error.message).toMatch(/no device 'mlx5_7'; there are ibsim0 port 1 \(active\)/);
    await member.finish();
  });
});

describe('many groups', () => {
  const at = withFabric({ hosts: 3 });
  const join = (index: number) => ({
    do: 'join',
    id: `g${String(index)}`,
    request: {
      record: { mgid: `ff12:cafe:0:1::${index.toString(16)}`, ...creation },
      joinTimeoutMs: 60_000,
    },
  });
  const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it('joins and leaves 1,000, the simulator not wedged', async () => {
    const member = await at.member();
    await member.command('together', { list: range(1000).map(join) });
    await member.says(
      () => member.said.filter((said) => said.type === 'joined').length === 1000,
      60_000,
    );
    expect(await at.groups()).toHaveLength(1000);
    await member.command('together', {
      list: range(1000).map((index) => ({ do: 'leave', id: `g${String(index)}` })),
    });
    await member.command('idle');
    expect(await at.groups()).toEqual([]);
    const stats = await member.stats();
    expect(stats).toMatchObject({ joined: 1000, handlesAlive: 0, groups: 0, leavesFailed: 0 });
    await member.finish();
  });

  it('fails those beyond the MLID pool of 1,100, and keeps the others', async () => {
    const member = await at.member();
    await member.command('together', { list: range(1100).map(join) });
    await member.says(
      () =>
        member.said.filter((said) => said.type === 'joined' || said.type === 'error').length ===
        1100,
      60_000,
    );
    const errors = member.said.filter((said) => said.type === 'error');
    expect(new Set(errors.map((said) => said.saStatusName))).toEqual(new Set(['NO_RESOURCES']));
    const groups = await at.groups();
    expect(groups).toHaveLength(1100 - errors.length);
    expect(errors.length).toBeGreaterThan(0);
    await member.command('together', {
      list: range(1100).map((index) => ({ do: 'leave', id: `g${String(index)}` })),
    });
    await member.finish();
    expect(await at.groups()).toEqual([]);
  });
});
