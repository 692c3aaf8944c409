import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { parseGroup } from '../../src/cli/group-argument.js';

describe('parseGroup', () => {
  it.each([
    ['ff12:cafe::10', { mgid: 'ff12:cafe::10' }],
    ['FF12:CAFE:0:0:0:0:0:10', { mgid: 'ff12:cafe::10' }],
    ['::', { mgid: '::' }],
    ['ff05::1234', { mgid: 'ff05::1234' }],
    ['ip:ff05::1234', { group: 'ff05::1234' }],
    ['239.1.2.3', { group: '239.1.2.3' }],
    ['ip:239.1.2.3', { group: '239.1.2.3' }],
  ])('%s', (text, target) => {
    expect(parseGroup(text)).toEqual(target);
  });

  it.each([
    ['ff12::1::2', "'ff12::1::2' is no GID: '::' may stand only once. Expected an MGID such as"],
    ['fe80::1', "'fe80::1' is no multicast GID. Expected"],
    ['10.1.2.3', "'10.1.2.3' is no IPv4 multicast address. Expected"],
    ['239.1.2', "'239.1.2' is no IP address. Expected"],
    ['ip:fe80::1', "'fe80::1' is no IPv6 multicast address. Expected"],
    ['ip:', "'' is no IP address. Expected"],
    ['', "'' is no IP address. Expected"],
    ['eth0', "'eth0' is no IP address. Expected"],
  ])('refuses %o', (text, message) => {
    expect(() => parseGroup(text)).toThrow(InvalidArgumentError);
    expect(() => parseGroup(text)).toThrow(message);
  });
});
