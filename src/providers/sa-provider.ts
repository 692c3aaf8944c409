import { ipoibMgid } from '../address/ipoib.js';
import type { NativeAsk } from '../binding/ask-exchange.js';
import type { JoinCallback, MulticastHandle, PortInfo, PortWish } from '../contract/provider.js';
import type {
  GroupNewsCallback,
  QueryCallback,
  QueryCompletion,
  ResolvedQuery,
  ResolvedService,
  SaRecordKind,
  ServiceCallback,
} from '../contract/query.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import { failureMessage } from '../errors/failure-message.js';
import { QUERY_ADVICE, SERVICE_ADVICE } from '../errors/failure-message.js';
import { componentMaskOf } from '../records/component-mask.js';
import type { McMemberRecord } from '../records/mc-member-record.js';
import { serviceComponentMask } from '../records/service-record.js';
import type { ServiceRecordInit } from '../records/service-record.js';
import { GroupWatch } from './group-watch.js';
import { NativeProvider } from './native-provider.js';
import type { PortPlace } from './native-provider.js';
import { recordsOf, SA_METHODS } from './sa-attributes.js';
import { selectPort } from './select-port.js';

/** A provider whose joins go through this package's own SA client. */
export abstract class SaProvider extends NativeProvider {
  #defaultPort: { among: readonly PortInfo[]; place: PortPlace } | undefined;

  protected choosePort(ports: readonly PortInfo[], request: PortWish): PortPlace {
    if (request.device !== undefined || request.port !== undefined) {
      return selectPort(ports, request);
    }
    // One list of ports serves many joins made in one go, and they all go the same way.
    if (this.#defaultPort?.among !== ports) {
      this.#defaultPort = { among: ports, place: selectPort(ports, request) };
    }
    return this.#defaultPort.place;
  }

  joinMulticast(request: ResolvedJoinRequest, callback: JoinCallback): MulticastHandle {
    const { device, port } = this.placeOf(request);
    const { record, componentMask } = request;
    if (record.mgid !== undefined) {
      return this.openedPort(device, port).join(record, record.mgid, componentMask, callback);
    }
    const mgid = this.mapGroup(request.group ?? '', {
      device,
      port,
      ...(record.pkey === undefined ? {} : { pkey: record.pkey }),
      ...(record.scope === undefined ? {} : { scope: record.scope }),
    });
    const mask = componentMask | componentMaskOf(['mgid']);
    return this.openedPort(device, port).join(record, mgid, mask, (completion) => {
      // The request does not name the MGID, so that whoever asked could not.
      if (completion.status !== 0 && completion.message === undefined) {
        completion.message = failureMessage({ ...completion, device, port, mgid });
      }
      callback(completion);
    });
  }

  query<K extends SaRecordKind>(
    request: ResolvedQuery<K>,
    callback: QueryCallback<K>,
  ): MulticastHandle {
    const { device, port } = this.placeOf(request);
    const { kind, record, componentMask, smKey } = request;
    // Which kind of record goes with which is not followed through the generic.
    const make = { kind, method: SA_METHODS.getTable, record, componentMask, smKey };
    return this.openedPort(device, port).ask({ make } as NativeAsk, (completion, table) => {
      const { status, saStatus } = completion;
      const answer: QueryCompletion<K> =
        status === 0
          ? { status, records: recordsOf(kind, table), truncated: table?.truncated === true }
          : {
              status,
              message: failureMessage({ ...completion, device, port }, undefined, QUERY_ADVICE),
            };
      if (saStatus !== undefined) answer.saStatus = saStatus;
      callback(answer);
    });
  }

  registerService(request: ResolvedService, callback: ServiceCallback): MulticastHandle {
    const { device, port } = this.placeOf(request);
    const native = this.openedPort(device, port);
    const serviceGid = request.record.serviceGid ?? native.state().gid;
    const record = { ...request.record, serviceGid };
    // Nothing else of the record: who registers the same service shares it, whatever else they say.
    const key = { serviceId: record.serviceId ?? 0n, serviceGid, pkey: record.pkey ?? 0 };
    const { leaseSeconds = Infinity } = record;
    const asked = (method: number, fields: Readonly<ServiceRecordInit>) =>
      ({
        kind: 'service-record',
        method,
        record: fields,
        componentMask: serviceComponentMask(fields),
        smKey: 0n,
      }) as const;
    const ask: NativeAsk = {
      make: asked(SA_METHODS.set, record),
      undo: asked(SA_METHODS.delete, key),
      probe: asked(SA_METHODS.get, key),
      ...(leaseSeconds === Infinity ? {} : { leaseMs: leaseSeconds * 1000 }),
    };
    return native.ask(ask, (completion, table) => {
      const { status, saStatus, reason } = completion;
      const [record] = status === 0 ? recordsOf('service-record', table) : [];
      callback({
        status,
        ...(saStatus === undefined ? {} : { saStatus }),
        ...(reason === undefined ? {} : { reason }),
        ...(record === undefined ? {} : { record }),
        ...(status === 0
          ? {}
          : {
              message: failureMessage({ ...completion, device, port }, undefined, SERVICE_ADVICE),
            }),
      });
    });
  }

  watchGroups(
    request: { device?: string; port?: number },
    callback: GroupNewsCallback,
  ): MulticastHandle {
    const place = this.placeOf(request);
    return new GroupWatch(this.openedPort(place.device, place.port), place, callback);
  }

  override freeMulticast(handle: MulticastHandle): void {
    if (!(handle instanceof GroupWatch)) super.freeMulticast(handle);
    else for (const one of handle.handles.splice(0)) super.freeMulticast(one);
  }

  memberRecord(
    mgid: string,
    place: { device?: string; port?: number },
  ): McMemberRecord | undefined {
    for (const native of this.openPorts(place)) {
      const record = native.memberRecord(mgid);
      if (record !== undefined) return record;
    }
    return undefined;
  }

  /** The MGID that IPoIB uses for the group (RFC 4391). The P_Key defaults to 0xffff. */
  mapGroup(
    group: string,
    request: { device?: string; port?: number; pkey?: number; scope?: number },
  ): string {
    return ipoibMgid(group, { pkey: request.pkey, scope: request.scope });
  }
}
