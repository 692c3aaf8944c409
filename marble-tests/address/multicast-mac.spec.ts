import { describe, expect, it } from 'vitest';
import { ipGroupGid } from '../../src/address/ip-group.js';
import { multicastMac } from '../../src/address/multicast-mac.js';

describe('ipGroupGid', () => {
  it.each([
    ['239.1.2.3', '::ffff:ef01:203'],
    ['224.0.0.1', '::ffff:e000:1'],
    ['ff05::1234', 'ff05::1234'],
  ])('%s is %s', (group, gid) => {
    expect(ipGroupGid(group)).toBe(gid);
  });
});

describe('multicastMac', () => {
  it.each([
    ['::ffff:ef01:203', '01:00:5e:01:02:03'],
    // Five bits of an IPv4 group are lost (RFC 1112).
    ['::ffff:e081:203', '01:00:5e:01:02:03'],
    ['ff05::1234:5678', '33:33:12:34:56:78'],
    ['ff12:401b:ffff::f01:203', '33:33:0f:01:02:03'],
  ])('of %s is %s', (mgid, mac) => {
    expect(multicastMac(mgid)).toBe(mac);
  });
});
