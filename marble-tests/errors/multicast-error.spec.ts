import { constants } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { errnoName, errnoNumber } from '../../src/errors/errno.js';
import { failureMessage } from '../../src/errors/failure-message.js';
import { MulticastError, reportedError } from '../../src/errors/multicast-error.js';
import { saStatusName } from '../../src/errors/sa-status.js';
import { wrapThrown } from '../../src/errors/wrap-thrown.js';

describe('errno table', () => {
  it('accepts either sign', () => {
    expect(errnoName(102)).toBe('ENETRESET');
    expect(errnoName(-102)).toBe('ENETRESET');
    expect(errnoName(-110)).toBe('ETIMEDOUT');
  });

  it('resolves aliases', () => {
    expect(errnoNumber('EWOULDBLOCK')).toBe(-11);
    expect(errnoNumber('ENOTSUP')).toBe(-95);
    expect(errnoName(11)).toBe('EAGAIN');
    expect(errnoName(95)).toBe('EOPNOTSUPP');
  });

  it('has no name for success, gaps and the unknown', () => {
    for (const status of [0, 41, 58, 9999, -9999, 1.5, NaN]) {
      expect(errnoName(status)).toBe('UNKNOWN');
    }
    expect(errnoNumber('OK')).toBeUndefined();
    expect(errnoNumber('ENOSUCHNAME')).toBeUndefined();
  });

  it.runIf(process.platform === 'linux')('agrees with the table of this Linux', () => {
    for (const [name, number] of Object.entries(constants.errno)) {
      expect(errnoNumber(name)).toBe(-number);
    }
  });
});

describe('MulticastError', () => {
  it('tells code, errno and status apart', () => {
    const error = new MulticastError('lost', { status: 110, saStatus: 1 });
    expect(error).toMatchObject({
      name: 'MulticastError',
      message: 'lost',
      code: 'ETIMEDOUT',
      errno: -110,
      status: 110,
      syscall: 'joinMulticast',
      saStatus: 1,
      saStatusName: 'BUSY',
      retryable: true,
    });
    expect(error).toBeInstanceOf(Error);
  });

  it('keeps the number of an unknown status', () => {
    expect(new MulticastError('', { status: 4242 })).toMatchObject({
      code: 'UNKNOWN',
      errno: -4242,
      status: 4242,
      retryable: false,
    });
  });

  it('takes a status of success for a fault of its maker', () => {
    expect(new MulticastError('', { status: 0 })).toMatchObject({ code: 'EPROTO', errno: -71 });
    expect(new MulticastError('', { status: NaN })).toMatchObject({ code: 'EPROTO', errno: -71 });
  });

  it.each([
    [-110, true],
    [-11, true],
    [-99, true],
    [-5, true],
    [-100, true],
    [-102, true],
    [-22, false],
    [-19, false],
    [-71, false],
    [-108, false],
  ])('status %i is retryable by default: %s', (status, retryable) => {
    expect(new MulticastError('', { status }).retryable).toBe(retryable);
  });

  it('is not retryable when the device was removed', () => {
    const error = new MulticastError('', { status: -102, reason: 'device-removed' });
    expect(error.retryable).toBe(false);
  });

  it('lets its maker decide', () => {
    expect(new MulticastError('', { status: -22, retryable: true }).retryable).toBe(true);
    expect(new MulticastError('', { status: -5, retryable: false }).retryable).toBe(false);
  });

  it('always has a reason with ENETRESET', () => {
    expect(new MulticastError('', { status: -102 }).reason).toBe('group-error');
    expect(new MulticastError('', { status: -22 }).reason).toBeUndefined();
  });

  it('leaves out what is not known', () => {
    const error = new MulticastError('', { status: -22, device: undefined });
    expect(Object.keys(error)).not.toContain('device');
    expect('cause' in error).toBe(false);
  });
});

describe('saStatusName', () => {
  it('names what the specification names', () => {
    expect(saStatusName(0)).toBe('OK');
    expect(saStatusName(0x0200)).toBe('REQ_INVALID');
    expect(saStatusName(0x0600)).toBe('INSUFFICIENT_COMPONENTS');
    expect(saStatusName(0x4242)).toBe('UNKNOWN');
  });
});

describe('failureMessage', () => {
  it('tells a refusal that differs in fields from one that does not say why', () => {
    const refused = { status: -22, saStatus: 0x0200 };
    expect(failureMessage({ ...refused, fields: ['mtu'] })).toMatch(
      /differs from the existing group.*; fields: mtu$/,
    );
    for (const details of [refused, { ...refused, fields: [] }]) {
      expect(failureMessage(details)).toMatch(
        /refused the record; check .*P_Key.*MTU.*full-member/,
      );
      expect(failureMessage(details)).not.toMatch(/differs/);
    }
  });

  it('says where, what and what to do', () => {
    const message = failureMessage({
      status: -22,
      saStatus: 0x0600,
      fields: ['qkey', 'sl'],
      device: 'mlx5_0',
      port: 1,
      mgid: 'ff12::1',
    });
    expect(message).toBe(
      "ff12::1 on mlx5_0/1: EINVAL: the group does not exist and the record has too few fields to create it; give the missing fields, or take them from the IPoIB broadcast group with inherit: 'broadcast'; SA status 0x0600 INSUFFICIENT_COMPONENTS; fields: qkey, sl",
    );
  });

  it('names the reason of a reset', () => {
    expect(failureMessage({ status: -102, reason: 'sm-change' })).toMatch(
      /another subnet manager took over.*join again/,
    );
    expect(failureMessage({ status: -102, reason: 'device-removed' })).toMatch(/lost for good/);
  });

  it('keeps the number of an unknown status', () => {
    expect(failureMessage({ status: -4242 })).toMatch(/UNKNOWN \(status -4242\)/);
  });
});

describe('reportedError', () => {
  const limit = Error.stackTraceLimit;
  afterEach(() => {
    Object.defineProperty(Error, 'stackTraceLimit', { value: limit, writable: true });
  });

  it('has name and message for its stack, and leaves the stacks of others as they are', () => {
    Error.stackTraceLimit = 7;
    const error = reportedError('gone', { status: -102 });
    expect(error).toBeInstanceOf(MulticastError);
    expect(error.stack).toBe('MulticastError: gone');
    expect(error).toMatchObject({ message: 'gone', code: 'ENETRESET' });
    expect(Error.stackTraceLimit).toBe(7);
    expect(new MulticastError('here', { status: -102 }).stack).toMatch(/here\n +at /);
  });

  it('takes the limit as it is where it cannot be changed', () => {
    Object.defineProperty(Error, 'stackTraceLimit', { value: 3, writable: false });
    expect(reportedError('gone', { status: -102 }).stack).toMatch(/^MulticastError: gone\n +at /);
  });
});

describe('wrapThrown', () => {
  it('passes a MulticastError', () => {
    const error = new MulticastError('', { status: -19 });
    expect(wrapThrown(error, {})).toBe(error);
  });

  it.each([
    [Object.assign(new Error('no'), { errno: -13 }), -13, 'EACCES'],
    [Object.assign(new Error('no'), { errno: 13 }), 13, 'EACCES'],
    [new Error('no'), -5, 'EIO'],
    [Object.assign(new Error('no'), { errno: 'x' }), -5, 'EIO'],
    ['text', -5, 'EIO'],
    [undefined, -5, 'EIO'],
    [null, -5, 'EIO'],
    [Object.create(null), -5, 'EIO'],
    [Symbol('x'), -5, 'EIO'],
  ])('wraps %o', (thrown: unknown, status, code) => {
    const error = wrapThrown(thrown, { mgid: 'ff12::1' });
    expect(error).toMatchObject({ status, code, retryable: false, mgid: 'ff12::1' });
    expect(error.cause).toBe(thrown);
  });
});
