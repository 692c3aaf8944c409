import type { MulticastProvider } from '../contract/provider.js';
import type { JoinRequest, ResolvedJoinRequest } from '../contract/request.js';
import type { SaClient } from '../contract/sa-client.js';
import { defaultProvider } from '../providers/default-provider.js';
import { checkJoinRequest } from './join-request.js';
import type { CheckedJoinRequest } from './join-request.js';
import type { Pin } from './rejoin-chain.js';
import { clientScope, unregisteredError } from './sa-client.js';

/** A request, still to be sealed, for its provider, or the failure that keeps it from starting. */
export interface Resolution<C> {
  readonly request: ResolvedJoinRequest<C | undefined>;
  readonly client: SaClient | undefined;
  /** Whether the broadcast group is to be looked up first. */
  readonly inherit: boolean;
  /** Thrown by the choice of provider, device or port; the join is not to be started. */
  readonly refusal: { readonly thrown: unknown } | undefined;
}

/** A resolved request until its place is chosen. */
type PlaceableRequest<C> = Omit<ResolvedJoinRequest<C>, 'device' | 'port' | 'group'> & {
  device?: string;
  port?: number;
  group?: string;
};

/** Stands on the events of a request for which no provider is usable. */
const noProvider: MulticastProvider = {
  name: 'none',
  joinMulticast: () => {
    throw new TypeError('there is no provider');
  },
  freeMulticast: () => undefined,
};

/** Whether a request, at the place of an earlier one, is the same in all else. */
function isResolved<C>(
  earlier: ResolvedJoinRequest<C | undefined>,
  checked: CheckedJoinRequest<C>,
): boolean {
  return (
    earlier.record === checked.record &&
    earlier.group === checked.group &&
    earlier.componentMask === checked.componentMask &&
    earlier.joinTimeoutMs === checked.joinTimeoutMs &&
    earlier.scheduler === checked.scheduler &&
    earlier.context === checked.context
  );
}

/**
 * Checks a request, then chooses its provider, device and port, unless it is pinned to those of an
 * earlier membership, whose request it then is once more if nothing else differs. What a user got wrong is thrown; what the machine lacks is a refusal.
 *
 * @throws TypeError or RangeError that names the field and the accepted values.
 */
export function resolveJoinRequest<C>(given: JoinRequest<C>, pin: Pin | undefined): Resolution<C> {
  // What is pinned for an observable of joinMulticast$ is the request that it made.
  const earlier = pin as ResolvedJoinRequest<C | undefined> | undefined;
  const checked = checkJoinRequest(given, earlier?.record);
  const { client, record, group, componentMask, inherit, joinTimeoutMs, scheduler, context } =
    checked;
  if (client !== undefined) clientScope(client);

  const { device, port } = pin ?? client ?? checked;
  let provider = pin?.provider ?? client?.provider ?? checked.provider;
  const resolved = (): PlaceableRequest<C | undefined> => {
    const request: PlaceableRequest<C | undefined> = {
      provider: provider ?? noProvider,
      record,
      componentMask,
      joinTimeoutMs,
      scheduler,
      context,
    };
    if (device !== undefined) request.device = device;
    if (port !== undefined) request.port = port;
    if (group !== undefined) request.group = group;
    return request;
  };
  try {
    if (client?.registered === false) throw unregisteredError(client, record.mgid);
    provider ??= defaultProvider({
      ...(record.mgid === undefined ? {} : { mgid: record.mgid }),
      ...(group === undefined ? {} : { group }),
      ...(device === undefined ? {} : { device }),
      ...(port === undefined ? {} : { port }),
      record,
    });
  } catch (thrown) {
    return { request: resolved(), client, inherit, refusal: { thrown } };
  }
  if (earlier !== undefined && !inherit && isResolved(earlier, checked)) {
    return { request: earlier, client, inherit, refusal: undefined };
  }
  const request = resolved();
  try {
    const chosen = pin === undefined ? provider.resolvePort?.(request) : undefined;
    if (chosen?.device !== undefined) request.device = chosen.device;
    if (chosen?.port !== undefined) request.port = chosen.port;
    return { request, client, inherit, refusal: undefined };
  } catch (thrown) {
    return { request, client, inherit, refusal: { thrown } };
  }
}
