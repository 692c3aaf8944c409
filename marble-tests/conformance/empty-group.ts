import { saStatusName } from '../../src/errors/sa-status.js';
import type { Administrator } from './administrator.js';
import { get, leave, PORTS, trustedGet } from './step.js';

/** Every port out of the group; resolves with whether it is gone. */
export async function emptyGroup(administrator: Administrator, mgid: string): Promise<boolean> {
  for (const portGid of PORTS) {
    const held = await administrator.ask('A', trustedGet('A', { mgid, portGid }));
    if (held?.status !== 0) continue;
    const joinState = held.records[0]?.joinState ?? 0;
    // A membership that the port made itself is for itself to end, any other for whoever shares
    // its partition; the subnet manager's port asks for nothing here.
    for (const by of portGid === 'Sm' ? (['A'] as const) : [portGid, 'A' as const]) {
      const left = await administrator.ask(by, leave(by, joinState, { mgid, portGid }));
      if (left?.status === 0) break;
    }
  }
  const found = await administrator.ask('A', get('A', { mgid }));
  return saStatusName(found?.status ?? 0) === 'NO_RECORDS';
}
