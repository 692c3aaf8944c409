import { describe, expect, it } from 'vitest';
import { humanLine, inFlagWording, jsonLine } from '../../src/cli/event-line.js';
import { alignedTable } from '../../src/cli/table.js';
import type {
  MulticastErrorEvent,
  MulticastJoinedEvent,
  MulticastResetEvent,
} from '../../src/contract/event.js';
import type { ResolvedJoinRequest } from '../../src/contract/request.js';
import { failureMessage } from '../../src/errors/failure-message.js';
import { MulticastError } from '../../src/errors/multicast-error.js';
import type { MulticastErrorDetails } from '../../src/errors/multicast-error.js';
import type { McMemberRecord } from '../../src/records/mc-member-record.js';

const mgid = 'ff12:cafe::10';
const request = {} as ResolvedJoinRequest;

const record: McMemberRecord = {
  mgid,
  portGid: 'fe80::1',
  qkey: 0xb1b,
  mlid: 0xc001,
  mtu: 2048,
  mtuCode: 4,
  mtuSelector: 'exactly',
  trafficClass: 0,
  pkey: 0xffff,
  rate: 10,
  rateCode: 3,
  rateSelector: 'exactly',
  packetLifeTime: 18,
  packetLifeTimeSelector: 'exactly',
  sl: 0,
  flowLabel: 0,
  hopLimit: 0,
  scope: 2,
  joinState: ['full-member', 'send-only-non-member'],
  proxyJoin: false,
};

function joined(changes: Partial<McMemberRecord> = {}): MulticastJoinedEvent<unknown> {
  const event = { type: 'joined', status: 0, request, context: undefined } as const;
  return { ...event, record: { ...record, ...changes } };
}

function failure(
  details: MulticastErrorDetails,
  message = failureMessage(details),
): MulticastError {
  return new MulticastError(message, details);
}

function failed(error: MulticastError): MulticastErrorEvent<unknown> {
  return { type: 'error', status: error.errno, error, request, context: undefined };
}

function reset(error: MulticastError): MulticastResetEvent<unknown> {
  const reason = error.reason ?? 'group-error';
  return { type: 'reset', status: error.errno, error, reason, request, context: undefined };
}

const place = { device: 'mlx5_0', port: 1, mgid };
const insufficient = failed(failure({ ...place, status: -22, saStatus: 0x600, fields: ['qkey'] }));
const lost = reset(failure({ ...place, status: -102, reason: 'membership-lost' }));

describe('jsonLine', () => {
  it('has type, status, MGID and record of a membership', () => {
    expect(JSON.parse(jsonLine(joined(), mgid))).toEqual({
      type: 'joined',
      status: 0,
      mgid,
      record,
    });
  });

  it('has code, SA status, its name, and message of a failure', () => {
    expect(JSON.parse(jsonLine(insufficient, mgid))).toEqual({
      type: 'error',
      status: -22,
      mgid,
      code: 'EINVAL',
      saStatus: 0x600,
      saStatusName: 'INSUFFICIENT_COMPONENTS',
      message: insufficient.error.message,
    });
  });

  it('has the reason of a reset', () => {
    expect(JSON.parse(jsonLine(lost, mgid))).toEqual({
      type: 'reset',
      status: -102,
      mgid,
      code: 'ENETRESET',
      reason: 'membership-lost',
      message: lost.error.message,
    });
  });

  it('names the MGID asked for where the error does not', () => {
    const event = failed(failure({ status: -110 }, 'line\nbreak'));
    expect(JSON.parse(jsonLine(event, mgid))).toMatchObject({ mgid });
    expect(jsonLine(event, mgid)).not.toContain('\n');
  });
});

describe('humanLine', () => {
  it('aligns time, type and group', () => {
    const lines = [
      humanLine(joined(), mgid, 4.2),
      humanLine(lost, mgid, 12_345.6),
      humanLine(insufficient, mgid, 123_456),
    ];
    expect(lines).toEqual([
      '    0.004s  joined  ff12:cafe::10  mlid 0xc001  mtu 2048  rate 10 Gb/s  pkey 0xffff  sl 0  full-member,send-only-non-member',
      '   12.346s  reset   ff12:cafe::10  ENETRESET membership-lost: the subnet manager no longer knows the membership: the membership is lost; join again to go on receiving (see --rejoin)',
      '  123.456s  error   ff12:cafe::10  EINVAL: the group does not exist and the record has too few fields to create it; give the missing flags, or take them from the IPoIB broadcast group with --inherit; SA status 0x0600 INSUFFICIENT_COMPONENTS; flags: --qkey',
    ]);
  });

  it('names a field that no flag sets as it is', () => {
    const details = {
      ...place,
      status: -22,
      saStatus: 0x200,
      fields: ['trafficClass', 'hopLimit'],
    };
    expect(humanLine(failed(failure(details)), mgid, 0)).toMatch(
      /; flags: --traffic-class, hopLimit$/,
    );
  });

  it('shows codes that have no value', () => {
    expect(humanLine(joined({ mtu: 0, mtuCode: 9, rate: 0, rateCode: 33 }), mgid, 0)).toContain(
      'mtu code 9  rate code 33',
    );
  });

  it('keeps a message of another form as it is', () => {
    const event = failed(failure({ status: -19 }, "there is no device 'x'; there are no devices"));
    expect(humanLine(event, mgid, 1)).toBe(
      "    0.001s  error   ff12:cafe::10  ENODEV: there is no device 'x'; there are no devices",
    );
  });
});

it('speaks of flags instead of options', () => {
  expect(inFlagWording('not joined within joinTimeoutMs (5 ms)')).toBe(
    'not joined within --join-timeout (5 ms)',
  );
});

it('aligns tables without spaces at the ends of lines', () => {
  expect(
    alignedTable([
      ['A', 'LONG', 'C'],
      ['abc', 'x', ''],
      ['', '', 'c'],
    ]),
  ).toEqual(['A    LONG  C', 'abc  x', '           c']);
});
