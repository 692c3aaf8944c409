import type { PortInfo } from '../contract/provider.js';
import { MulticastError } from '../errors/multicast-error.js';
import { capabilities, listDevices } from '../providers/capabilities.js';
import type { ProviderCapability } from '../providers/capabilities.js';
import { ExitCode } from './exit-code.js';
import { hex } from './numbers.js';
import { SIMULATION } from './place-flags.js';
import { chooseProvider } from './provider-choice.js';
import type { ProviderName } from './provider-choice.js';
import { alignedTable } from './table.js';
import type { Terminal } from './terminal.js';

/** The ports there are; why they cannot be listed is told by the capabilities. */
function ports(provider: ProviderName | undefined): PortInfo[] {
  try {
    if (provider === undefined) return listDevices();
    return chooseProvider(provider, {}, {}).ports?.() ?? [];
  } catch (error) {
    if (error instanceof MulticastError) return [];
    throw error;
  }
}

function portRow(info: PortInfo): string[] {
  return [
    info.device,
    String(info.port),
    info.state,
    info.linkLayer,
    String(info.lid),
    String(info.smLid),
    info.gid,
    info.pkeys.map((pkey) => hex(pkey, 4)).join(','),
  ];
}

/** The flags of `devices`. */
export interface DevicesFlags {
  readonly provider?: ProviderName;
  readonly json?: boolean;
}

/** Prints the ports of this machine or of a provider, and which providers are usable, or why not. */
export function devices(flags: DevicesFlags, terminal: Terminal): number {
  if (flags.provider === 'embedded') terminal.note(SIMULATION);
  const found = ports(flags.provider);
  const usable = Object.entries<ProviderCapability>({ ...capabilities() });
  if (flags.json === true) {
    terminal.print(JSON.stringify({ devices: found, capabilities: Object.fromEntries(usable) }));
    return ExitCode.ended;
  }
  const lines = [
    ...(found.length === 0
      ? ['no devices']
      : alignedTable([
          ['DEVICE', 'PORT', 'STATE', 'LINK', 'LID', 'SM LID', 'GID', 'P_KEYS'],
          ...found.map(portRow),
        ])),
    '',
    ...alignedTable([
      ['PROVIDER', 'USABLE', 'REASON'],
      ...usable.map(([name, { usable: yes, reason }]) => [name, yes ? 'yes' : 'no', reason]),
    ]),
  ];
  for (const line of lines) terminal.print(line);
  return ExitCode.ended;
}
