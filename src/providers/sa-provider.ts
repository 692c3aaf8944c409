import { ipoibMgid } from '../address/ipoib.js';
import type { JoinCallback, MulticastHandle, PortInfo } from '../contract/provider.js';
import type { ResolvedJoinRequest } from '../contract/request.js';
import { failureMessage } from '../errors/failure-message.js';
import { componentMaskOf } from '../records/component-mask.js';
import { NativeProvider } from './native-provider.js';
import { selectPort } from './select-port.js';

/** A provider whose joins go through this package's own SA client. */
export abstract class SaProvider extends NativeProvider {
  protected choosePort(
    ports: readonly PortInfo[],
    request: ResolvedJoinRequest,
  ): { device: string; port: number } {
    return selectPort(ports, request);
  }

  joinMulticast(request: ResolvedJoinRequest, callback: JoinCallback): MulticastHandle {
    const { device, port } = this.placeOf(request);
    const { record } = request;
    const mgid =
      record.mgid ??
      this.mapGroup(request.group ?? '', {
        device,
        port,
        ...(record.pkey === undefined ? {} : { pkey: record.pkey }),
        ...(record.scope === undefined ? {} : { scope: record.scope }),
      });
    const mask =
      record.mgid === undefined
        ? request.componentMask | componentMaskOf(['mgid'])
        : request.componentMask;
    return this.openedPort(device, port).join(record, mgid, mask, (completion) => {
      if (completion.status !== 0 && completion.message === undefined) {
        completion.message = failureMessage({ ...completion, device, port, mgid });
      }
      callback(completion);
    });
  }

  /** The MGID that IPoIB uses for the group (RFC 4391). The P_Key defaults to 0xffff. */
  mapGroup(
    group: string,
    request: { device?: string; port?: number; pkey?: number; scope?: number },
  ): string {
    return ipoibMgid(group, { pkey: request.pkey, scope: request.scope });
  }
}
