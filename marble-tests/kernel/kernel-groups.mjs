// What the kernel itself says about the groups it has joined.

import { readFileSync } from 'node:fs';

/**
 * The IPv4 groups that this host's interfaces have joined, each with how often: on RoCE v2 a
 * membership of the connection manager is one of the interface as well. Without those that IP itself
 * has joined, 224.0.0.x.
 */
export function kernelGroups() {
  const groups = {};
  for (const [, hex, users] of readFileSync('/proc/net/igmp', 'utf8').matchAll(
    /^\s+([0-9A-F]{8})\s+(\d+)/gm,
  )) {
    // In network order, printed as a number of this machine.
    const group = hex
      .match(/../g)
      .reverse()
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
    if (!group.startsWith('224.0.0.')) groups[group] = (groups[group] ?? 0) + Number(users);
  }
  return groups;
}
