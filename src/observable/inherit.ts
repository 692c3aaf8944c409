import { formatGid, parseGid } from '../address/gid.js';
import { isIpoibMgid } from '../address/ipoib.js';
import type { MulticastHandle } from '../contract/provider.js';
import type { QueryCompletion } from '../contract/query.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import { Errno } from '../errors/errno.js';
import { failureMessage, QUERY_ADVICE } from '../errors/failure-message.js';
import { MulticastError } from '../errors/multicast-error.js';
import { componentMaskOf, recordComponentMask } from '../records/component-mask.js';
import type { McMemberRecord, McMemberRecordInit } from '../records/mc-member-record.js';
import { freeHandle } from './free-handle.js';

const DEFAULT_PKEY = 0xffff;
const LINK_LOCAL = 2;

/** The MGID of the IPoIB broadcast group that a request belongs to (RFC 4391). */
export function broadcastMgidOf(record: Readonly<McMemberRecordInit>): string {
  const given = record.mgid === undefined ? undefined : parseGid(record.mgid);
  const ipoib = given !== undefined && isIpoibMgid(given) ? given : undefined;
  const pkey =
    record.pkey ?? (ipoib === undefined ? DEFAULT_PKEY : ((ipoib[4] ?? 0) << 8) | (ipoib[5] ?? 0));
  const scope = record.scope ?? (ipoib === undefined ? LINK_LOCAL : (ipoib[1] ?? 0) & 0xf);
  const mgid = new Uint8Array(16);
  mgid.set([0xff, 0x10 | scope, 0x40, 0x1b, (pkey >> 8) | 0x80, pkey & 0xff]);
  mgid.fill(0xff, 12);
  return formatGid(mgid);
}

/** The request, still to be sealed, with what its record leaves out taken from the record of the broadcast group. */
export function inheriting<C>(
  request: ResolvedJoinRequest<C>,
  broadcast: McMemberRecord,
): ResolvedJoinRequest<C> {
  const { qkey, pkey, sl, trafficClass, flowLabel, hopLimit, mtu, rate } = broadcast;
  const given = request.record;
  const record: McMemberRecordInit = {
    qkey,
    pkey,
    sl,
    trafficClass,
    flowLabel,
    hopLimit,
    // A value without a meaning here, or one that a selector of the user's is to choose, is left out.
    ...(mtu === 0 || given.mtuSelector !== undefined ? {} : { mtu, mtuSelector: 'exactly' }),
    ...(rate === 0 || given.rateSelector !== undefined ? {} : { rate, rateSelector: 'exactly' }),
    ...given,
  };
  return {
    ...request,
    record: Object.freeze(record),
    componentMask: recordComponentMask(record),
  };
}

/**
 * Asks for the broadcast group of a request. Calls back once, with its record or with why there is
 * none; possibly within this call.
 *
 * @returns Ends the question; idempotent.
 */
export function lookUpBroadcast(
  request: ResolvedJoinRequest,
  callback: (found: McMemberRecord | MulticastError) => void,
): () => void {
  const { provider, device, port } = request;
  const mgid = broadcastMgidOf(request.record);
  const place = {
    ...(device === undefined ? {} : { device }),
    ...(port === undefined ? {} : { port }),
  };
  if (provider.query === undefined) {
    callback(
      new MulticastError(
        `the provider '${provider.name}' cannot look up the broadcast group; give the fields, or use umad()`,
        { status: Errno.EOPNOTSUPP, mgid, ...place },
      ),
    );
    return () => undefined;
  }
  let handle: { readonly value: MulticastHandle } | undefined;
  let early: QueryCompletion<'mc-member-record'> | undefined;
  let over = false;
  const end = (): void => {
    over = true;
    if (handle === undefined) return;
    const { value } = handle;
    handle = undefined;
    freeHandle(provider, value, { ...place, mgid });
  };
  const finish = (completion: QueryCompletion<'mc-member-record'>): void => {
    if (over) return;
    end();
    const { status, saStatus, message } = completion;
    if (status !== 0) {
      const details = { status, saStatus, mgid, ...place };
      callback(
        new MulticastError(message ?? failureMessage(details, undefined, QUERY_ADVICE), details),
      );
      return;
    }
    for (const record of completion.records ?? []) {
      callback(record);
      return;
    }
    callback(
      new MulticastError(
        `${mgid}: EADDRNOTAVAIL: there is no IPoIB broadcast group to inherit from in this partition; have the subnet manager create it, or give the fields in record`,
        { status: Errno.EADDRNOTAVAIL, mgid, ...place },
      ),
    );
  };
  const value = provider.query(
    {
      kind: 'mc-member-record',
      ...place,
      record: { mgid },
      componentMask: componentMaskOf(['mgid']),
      smKey: 0n,
    },
    (completion) => {
      if (handle === undefined && !over) early = completion;
      else finish(completion);
    },
  );
  handle = { value };
  if (early !== undefined) finish(early);
  return end;
}
