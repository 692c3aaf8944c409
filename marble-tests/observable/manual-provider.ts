import type {
  JoinCallback,
  JoinCompletion,
  MulticastProvider,
} from '../../src/contract/provider.js';
import type { ResolvedJoinRequest } from '../../src/contract/request.js';
import { joinedRecord } from '../../src/testing/joined-record.js';

/** One call of joinMulticast. */
export interface ManualJoin {
  readonly request: ResolvedJoinRequest;
  readonly complete: JoinCallback;
  readonly joined: () => void;
  frees: number;
}

/** A provider that is driven call by call. */
export interface ManualProvider extends MulticastProvider {
  readonly joins: ManualJoin[];
  /** Joins made and not freed. */
  alive(): number;
}

/** Makes a provider; `onJoin` runs inside each joinMulticast and may complete or throw there. */
export function manualProvider(
  onJoin: (join: ManualJoin, index: number) => void = () => undefined,
  rest: Partial<MulticastProvider> = {},
): ManualProvider {
  const joins: ManualJoin[] = [];
  return {
    name: 'manual',
    joins,
    alive: () => joins.filter((join) => join.frees === 0).length,
    joinMulticast: (request, callback) => {
      const join: ManualJoin = {
        request,
        complete: (completion: JoinCompletion) => {
          callback(completion);
        },
        joined: () => {
          callback({ status: 0, record: joinedRecord(request) });
        },
        frees: 0,
      };
      onJoin(join, joins.length);
      joins.push(join);
      return join;
    },
    freeMulticast: (handle) => {
      (handle as ManualJoin).frees += 1;
    },
    ...rest,
  };
}
