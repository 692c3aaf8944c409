// Two ways to join on one of the ports that the cases know: in this process at the embedded fabric,
// and in a process on a simulated host at OpenSM.
import type { Subscription } from 'rxjs';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';
import { MemberProcess } from '../fabric/member-process.js';
import { startOpensmFabric } from './opensm-fabric.js';
import type { Outcome, ProviderStep } from './provider-cases.js';
import { MLIDS, PORTS } from './step.js';
import type { PortName } from './step.js';

export type Join = NonNullable<ProviderStep['join']>;

export interface Joiner {
  /** Subscribes, and resolves with what is said first. */
  join(by: PortName, id: string, request: Join): Promise<Outcome>;
  /** Unsubscribes, and resolves once the port has left. */
  leave(by: PortName, id: string): Promise<void>;
  /** The MGIDs of the groups that are there, without the broadcast group. */
  groups(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What is compared of an event, whether it came from here or from another process. */
function outcomeOf(
  event: {
    type: string;
    record?: Extract<Outcome, { type: 'joined' }>['record'];
    code?: string | undefined;
    saStatusName?: string | undefined;
    fields?: readonly string[] | undefined;
  },
  nameOf: (gid: string) => string,
): Outcome {
  const { type, record, code = '', saStatusName, fields } = event;
  if (type === 'joined' && record !== undefined) {
    return { type, record: { ...record, portGid: nameOf(record.portGid) } };
  }
  if (type !== 'error') throw new Error(`said ${type}`);
  return {
    type,
    code,
    ...(saStatusName === undefined ? {} : { saStatusName }),
    ...(fields === undefined ? {} : { fields }),
  };
}

export function embeddedJoiner(): Promise<Joiner> {
  const fabric = embeddedFabric({
    ports: PORTS.length,
    mlidPool: MLIDS,
    clock: 'manual',
    auditIntervalMs: 0,
  });
  const deviceOf = (name: PortName): string => `embedded${String(PORTS.indexOf(name))}`;
  fabric.setPkeys(deviceOf('A'), [0xffff, 0x8001]);
  fabric.setPkeys(deviceOf('B'), [0xffff, 0x0001]);
  const infos = fabric.ports();
  const nameOf = (gid: string): string => {
    const device = infos.find((info) => info.gid === gid)?.device;
    return PORTS.find((name) => deviceOf(name) === device) ?? gid;
  };
  const subscriptions = new Map<string, Subscription>();
  return Promise.resolve({
    join: (by, id, request) => {
      const outcomes: Outcome[] = [];
      const joined$ = joinMulticast$({
        provider: fabric,
        device: deviceOf(by),
        port: 1,
        ...request,
      });
      subscriptions.set(
        id,
        joined$.subscribe({
          next: (event) => {
            const { code, saStatusName, fields } = 'error' in event ? event.error : {};
            outcomes.push(outcomeOf({ ...event, code, saStatusName, fields }, nameOf));
          },
          error: () => undefined,
        }),
      );
      fabric.tick(100);
      const [first] = outcomes;
      if (first === undefined) throw new Error('nothing was said');
      return Promise.resolve(first);
    },
    leave: (_, id) => {
      subscriptions.get(id)?.unsubscribe();
      subscriptions.delete(id);
      fabric.tick(100);
      return Promise.resolve();
    },
    groups: () => Promise.resolve([...new Set(fabric.members().map(({ mgid }) => mgid))]),
    close: () => fabric.close(),
  });
}

export async function opensmJoiner(): Promise<Joiner> {
  const opensm = await startOpensmFabric();
  const members = new Map<PortName, MemberProcess>();
  const close = async (): Promise<void> => {
    await Promise.all([...members.values()].map((member) => member.finish()));
    await opensm.stop();
  };
  try {
    for (const name of PORTS) {
      if (name !== 'Sm') members.set(name, await MemberProcess.start(opensm.env(name)));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const nameOf = (gid: string): string => PORTS.find((name) => opensm.gidOf(name) === gid) ?? gid;
  const memberOf = (name: PortName): MemberProcess => {
    const member = members.get(name);
    if (member === undefined) throw new Error(`nobody joins on port ${name}`);
    return member;
  };
  return {
    join: async (by, id, request) => {
      const member = memberOf(by);
      await member.join(id, request);
      return outcomeOf(await member.says((said) => said.id === id), nameOf);
    },
    leave: async (by, id) => {
      await memberOf(by).leave(id);
      await memberOf(by).command('idle');
    },
    groups: async () =>
      (await opensm.fabric.groups())
        .filter(({ members: there, wellKnown }) => !wellKnown || there.length > 0)
        .map(({ mgid }) => mgid),
    close,
  };
}
