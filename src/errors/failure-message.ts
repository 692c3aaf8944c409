import { errnoName } from './errno.js';
import type { MulticastErrorDetails } from './multicast-error.js';
import type { ResetReason } from './reset-reason.js';
import { saStatusName } from './sa-status.js';

const ADVICE: Readonly<Record<string, string>> = {
  EPERM: 'not permitted; run as a user who may open the InfiniBand devices',
  EACCES: 'permission denied; run as a user who may open the InfiniBand devices',
  EIO: 'the request could not be sent; check the port, then try again',
  EAGAIN: 'the port is not active or knows no subnet manager yet; try again when it does',
  EBUSY: 'the port is in use with other options, or by another copy of this package',
  ENODEV: 'there is no such device or provider; list what exists with `rx-ib-multicast devices`',
  ENFILE: 'the system has too many files open',
  EMFILE: 'the process has too many files open; close some, or raise its limit (ulimit -n)',
  EINVAL: 'the record does not fit the group; compare it with the group at the subnet manager',
  EPROTO:
    'the provider reported something that is no valid completion; this is a fault of the provider',
  EOPNOTSUPP: 'the provider cannot do this; choose another provider',
  EADDRNOTAVAIL: 'the address is not available yet; try again',
  ENETDOWN: 'the network is down; try again when the port is active',
  ENETRESET: 'the membership is lost; join again to go on receiving (see rejoinOnReset)',
  ESHUTDOWN: 'the SA client was unregistered; register a new one',
  ETIMEDOUT: 'no answer in time; check that a subnet manager is running, then try again',
};

const SA_ADVICE: Readonly<Record<string, string>> = {
  BUSY: 'the subnet manager stayed busy; try again later',
  NO_RESOURCES: 'the subnet manager has no multicast LID left; leave groups that are not needed',
  REQ_INVALID:
    'the record differs from the existing group in the fields named; give their values, or leave them out',
  REQ_INVALID_GID: 'the MGID or the port GID is not acceptable to the subnet manager',
  INSUFFICIENT_COMPONENTS:
    'the group does not exist and the record has too few fields to create it; give the missing fields, ' +
    "or take them from the IPoIB broadcast group with inherit: 'broadcast'",
  REQ_DENIED: 'the subnet manager denied the request; check partitions and its multicast rules',
};

/** Where the group was fetched and differs, the fields are named; this is for all else. */
const REQ_INVALID_UNEXPLAINED =
  'the subnet manager refused the record; check that the P_Key is in the table of the port, that the ' +
  'port can do MTU and rate of the group, that a full-member creates it, and, for an IP group, that ' +
  'the IPoIB broadcast group of its scope and P_Key exists';

const REASONS: Readonly<Record<ResetReason, string>> = {
  'port-error': 'the port went down',
  'lid-change': 'the LID of the port changed',
  'sm-change': 'another subnet manager took over',
  'client-reregister': 'the subnet manager asked for registration anew',
  'pkey-change': 'the P_Key table changed',
  'gid-change': 'the GID of the port changed',
  'membership-lost': 'the subnet manager no longer knows the membership',
  'address-change': 'the address of the interface changed',
  'device-removed': 'the device was removed',
  'group-error': 'the group failed',
};

/** Advice by errno name, by SA status name, or by reason. */
export type FailureAdvice = Readonly<Record<string, string>>;

/** What differs for a query. */
export const QUERY_ADVICE: FailureAdvice = {
  EINVAL: 'the subnet manager refused the query',
  EPROTO: 'the subnet manager answered with something that is no such record',
  REQ_INVALID: 'a field has a value that the subnet manager does not know, or two contradict',
  NO_RECORDS: 'there is no such record',
  METHOD_ATTRIBUTE_UNSUPPORTED: 'the subnet manager does not serve this kind of record',
};

/** What differs for the registration of a service. */
export const SERVICE_ADVICE: FailureAdvice = {
  EINVAL: 'the subnet manager refused the service',
  EPROTO: 'the subnet manager answered with something that is no service record',
  ENETRESET: 'the registration is lost; register again (see rejoinOnReset)',
  REQ_INVALID: 'the service GID or the P_Key is not acceptable to the subnet manager',
  NO_RESOURCES: 'the subnet manager has no room for another service',
  'membership-lost': 'the subnet manager no longer knows the service',
};

/** What differs for a subscription to group news. */
export const NEWS_ADVICE: FailureAdvice = {
  EBUSY:
    'another program on this port has the reports of the subnet administrator (srp_daemon is one that ' +
    'takes them), and only one can; end it, or use another port',
  EINVAL: 'the subnet manager refused the subscription',
  EPROTO: 'the subnet manager answered with something that is no subscription',
};

function saAdvice(
  { saStatus, fields }: MulticastErrorDetails,
  special: FailureAdvice,
): string | undefined {
  if (saStatus === undefined) return undefined;
  const name = saStatusName(saStatus);
  // Advice for joins would only mislead whoever has asked for something else.
  if (Object.keys(special).length > 0 && name !== 'BUSY') return special[name];
  const explained = fields !== undefined && fields.length > 0;
  return name === 'REQ_INVALID' && !explained ? REQ_INVALID_UNEXPLAINED : SA_ADVICE[name];
}

/**
 * The text of a failure that came without one: where, what happened, and what to do about it.
 *
 * @param advice What a provider knows better than the status alone tells.
 */
export function failureMessage(
  details: MulticastErrorDetails,
  advice?: string,
  special: FailureAdvice = {},
): string {
  const code = errnoName(details.status);
  const { mgid, device, port } = details;
  // Put together without lists: a reset of a port makes one of these for each of its memberships.
  const at = device === undefined ? '' : port === undefined ? device : `${device}/${String(port)}`;
  const place = mgid === undefined ? at : at === '' ? mgid : `${mgid} on ${at}`;
  const what =
    details.reason !== undefined
      ? `${special[details.reason] ?? REASONS[details.reason]}: ${
          details.reason === 'device-removed'
            ? 'the membership is lost for good'
            : (advice ?? special[code] ?? ADVICE[code] ?? 'failed')
        }`
      : (saAdvice(details, special) ??
        advice ??
        special[code] ??
        ADVICE[code] ??
        'the join failed');
  const sa =
    details.saStatus === undefined
      ? ''
      : `; SA status 0x${details.saStatus.toString(16).padStart(4, '0')} ${saStatusName(details.saStatus)}`;
  const fields =
    details.fields === undefined || details.fields.length === 0
      ? ''
      : `; fields: ${details.fields.join(', ')}`;
  const label = code === 'UNKNOWN' ? `UNKNOWN (status ${String(details.status)})` : code;
  return `${place === '' ? '' : `${place}: `}${label}: ${what}${sa}${fields}`;
}
