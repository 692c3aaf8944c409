import type { MulticastProvider, SaPortOptions } from '../contract/provider.js';
import type { JoinRequest } from '../contract/request.js';
import type { McMemberRecordInit } from '../records/mc-member-record.js';
import { UsageError } from './exit-code.js';
import { acceptedForm } from './field-value.js';
import type { GroupArgument } from './group-argument.js';
import type { JoinFlags } from './join-flags.js';

/**
 * Here the leave is waited for in the open, where a signal can end it; this is for what remains when
 * that was given up.
 */
const EXIT_DRAIN_MS = 500;

/** Omits what is undefined, for types in which absent and undefined differ. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** The options of the provider's port that the flags ask for. */
export function portOptions(flags: JoinFlags): SaPortOptions {
  return present<SaPortOptions>({
    requestTimeoutMs: flags.requestTimeout,
    auditIntervalMs: flags.auditInterval,
    probe: flags.probe,
    exitDrainMs: EXIT_DRAIN_MS,
  });
}

/** The record that argument and flags ask for. */
export function recordOf(target: GroupArgument, flags: JoinFlags): McMemberRecordInit {
  const { qkey, pkey, mtu, rate, sl, trafficClass, flowLabel, joinState } = flags;
  return present<McMemberRecordInit>({
    mgid: 'mgid' in target ? target.mgid : undefined,
    qkey,
    pkey,
    mtu,
    rate,
    sl,
    trafficClass,
    flowLabel,
    joinState,
  });
}

/** The request that argument and flags ask for. */
export function joinRequest(
  target: GroupArgument,
  flags: JoinFlags,
  provider: MulticastProvider,
): JoinRequest {
  return present<JoinRequest>({
    provider,
    device: flags.device,
    port: flags.port,
    record: recordOf(target, flags),
    group: 'group' in target ? target.group : undefined,
    inherit: flags.inherit === true ? ('broadcast' as const) : undefined,
    joinTimeoutMs: flags.joinTimeout,
  });
}

/**
 * The MGID that the provider maps the group to, before the join: a P_Key without a mapping is wrong
 * usage and no failure, and a failure shall name the MGID.
 */
export function mgidOf(request: JoinRequest, provider: MulticastProvider): string | undefined {
  const { group, record } = request;
  if (group === undefined) return record?.mgid;
  try {
    return provider.mapGroup?.(group, present({ pkey: record?.pkey }));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(
      `--pkey ${String(record?.pkey)} is invalid for an IP group. ${acceptedForm(error)}.`,
    );
  }
}
