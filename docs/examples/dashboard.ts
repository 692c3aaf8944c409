// The state of many memberships for a dashboard, with the type of its own context on every event.

import { joinMulticastAll$, rejoinOnReset, trackMembership, joinMulticast$ } from 'rx-ib-multicast';
import type {
  JoinRequestWith,
  MembershipState,
  MulticastEvent,
  MulticastProvider,
} from 'rx-ib-multicast';
import { map, scan } from 'rxjs';
import type { Observable } from 'rxjs';

/** What this application knows about a group. */
interface Feed {
  readonly name: string;
  readonly critical: boolean;
}

/** A request whose context is typed; `context` is this type again on every event. */
export function feedRequest(
  mgid: string,
  feed: Feed,
  provider?: MulticastProvider,
): JoinRequestWith<Feed> {
  return {
    ...(provider === undefined ? {} : { provider }),
    record: { mgid, qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 },
    context: feed,
  };
}

/** One line per event. The type of the event decides which fields it has. */
export function describe(event: MulticastEvent<Feed>): string {
  switch (event.type) {
    case 'joined':
      return `${event.context.name}: MLID ${event.record.mlid.toString(16)}`;
    case 'reset':
      return `${event.context.name}: lost, ${event.reason}`;
    case 'error':
      return `${event.context.name}: ${event.error.code} ${event.error.fields?.join(', ') ?? ''}`;
  }
}

/** The critical feeds that are no members at the moment. */
export function missing$(
  requests: readonly JoinRequestWith<Feed>[],
): Observable<readonly string[]> {
  const critical = requests.map(({ context }) => context).filter((feed) => feed.critical);
  return joinMulticastAll$(requests, { each: rejoinOnReset() }).pipe(
    scan((members, { type, context }) => {
      const next = new Set(members);
      if (type === 'joined') next.add(context.name);
      else next.delete(context.name);
      return next;
    }, new Set<string>()),
    map((members) => critical.map(({ name }) => name).filter((name) => !members.has(name))),
  );
}

/** One membership as the states of a health check. */
export function health$(
  request: JoinRequestWith<Feed>,
): Observable<'starting' | 'healthy' | 'degraded' | 'down'> {
  const healthOf = (now: MembershipState<Feed>): 'starting' | 'healthy' | 'degraded' | 'down' => {
    switch (now.state) {
      case 'joining':
        return 'starting';
      case 'member':
        return 'healthy';
      case 'outage':
        return Date.now() - now.since < 30_000 ? 'degraded' : 'down';
      case 'failed':
        return 'down';
    }
  };
  return joinMulticast$(request).pipe(
    rejoinOnReset({ retryInitial: true }),
    trackMembership(),
    map(healthOf),
  );
}
