import { describe, expect, it } from 'vitest';
import { addressHandleFromMcMember, unpackMcMemberRecord } from '../../src/index.js';
import type { McMemberRecord } from '../../src/index.js';

const record: McMemberRecord = {
  ...unpackMcMemberRecord(new Uint8Array(52)),
  mgid: 'ff12:401b:ffff::1',
  portGid: 'fe80::2:c903:0:1',
  mlid: 0xc005,
  sl: 3,
  rate: 40,
  flowLabel: 0x12345,
  hopLimit: 9,
  trafficClass: 7,
};
const port = {
  device: 'mlx5_0',
  port: 2,
  gid: 'fe80::2:c903:0:1',
  linkLayer: 'infiniband',
} as const;

describe('addressHandleFromMcMember', () => {
  it('has the fields of the group, and a global route from the GID of the port', () => {
    expect(addressHandleFromMcMember(record, port)).toEqual({
      type: 'infiniband',
      port: 2,
      dlid: 0xc005,
      sl: 3,
      staticRate: 40,
      grh: {
        sgidIndex: 0,
        dgid: 'ff12:401b:ffff::1',
        flowLabel: 0x12345,
        hopLimit: 9,
        trafficClass: 7,
      },
    });
  });

  it('finds the GID in the table of the port, in any spelling', () => {
    const gids = ['fe80::1', '::', 'FE80:0::2:c903:0:1'];
    expect(addressHandleFromMcMember(record, { ...port, gids }).grh.sgidIndex).toBe(2);
  });

  it('is ENOENT, as in the kernel, when the port does not have the GID', () => {
    expect(() => addressHandleFromMcMember({ ...record, portGid: 'fe80::9' }, port)).toThrow(
      expect.objectContaining({ code: 'ENOENT', errno: -2, device: 'mlx5_0', port: 2 }),
    );
  });

  it('has a MAC address instead of a LID on RoCE', () => {
    expect(
      addressHandleFromMcMember(
        { ...record, mgid: '::ffff:239.1.2.3', mlid: 0 },
        { ...port, linkLayer: 'ethernet' },
      ),
    ).toMatchObject({ type: 'roce', dlid: 0, dmac: '01:00:5e:01:02:03' });
  });
});
