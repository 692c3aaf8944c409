// OpenSM on a simulated fabric with the ports that the cases know.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFabric } from '../../scripts/fabric/simulator.mjs';
import type { SimulatedFabric } from '../../scripts/fabric/simulator.mjs';
import { gidOfHex } from './sa-mad.js';
import { MLIDS, PORTS } from './step.js';
import type { PortName } from './step.js';

export interface OpensmFabric {
  fabric: SimulatedFabric;
  /** The environment of a process on a port's host. */
  env: (name: PortName) => Record<string, string>;
  gidOf: (name: PortName) => string;
  stop(): Promise<void>;
}

/** ibsim numbers the ports of its hosts from 0x100001 by twos, in the order of the net file. */
function guidOf(name: PortName): string {
  return (0x100001 + 2 * PORTS.indexOf(name)).toString(16).padStart(16, '0');
}

function hostOf(name: PortName): string {
  return `Hca${String(PORTS.indexOf(name) + 1)}`;
}

const PARTITIONS = `Default=0x7fff,ipoib:ALL=full;
half=0x0001:0x${guidOf('Sm')}=full,0x${guidOf('A')}=full,0x${guidOf('B')}=limited;
`;

export async function startOpensmFabric(): Promise<OpensmFabric> {
  const directory = await mkdtemp(join(tmpdir(), 'rxib-conformance-'));
  const partitions = join(directory, 'partitions.conf');
  try {
    await writeFile(partitions, PARTITIONS);
    const fabric = await startFabric({
      hosts: PORTS.length,
      mlids: MLIDS,
      narrowHosts: [hostOf('D')],
      opensmHost: hostOf('Sm'),
      opensmOptions: { partition_config_file: partitions },
    });
    return {
      fabric,
      env: (name) => fabric.env(hostOf(name)),
      gidOf: (name) => gidOfHex(`fe80000000000000${guidOf(name)}`),
      stop: async () => {
        await fabric.stop();
        await rm(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}
