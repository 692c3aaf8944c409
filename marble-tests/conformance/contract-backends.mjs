// The providers that the contract's cases are put to, and how each is asked for a group. To be used in
// a process on the fabric concerned: a simulated host for umad, the guest for rdmacm.

import { embeddedFabric, rdmacm, umad } from 'rx-ib-multicast';
import { kernelGroups } from '../kernel/kernel-groups.mjs';

/** What creates an IP group at a subnet administrator; the kernel decides it by itself. */
const CREATION = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };

const makers = {
  // Some time passes between a request and its answer, as on the others.
  embedded: (options) => embeddedFabric({ ports: 2, delayMs: 1, ...options }),
  umad,
  rdmacm,
};

/** Who is a member, asked of somebody else than the provider. At OpenSM the spec asks, at the end. */
const members = {
  embedded: (fabric) => fabric.members().map(({ mgid }) => mgid),
  umad: () => [],
  rdmacm: () => Object.keys(kernelGroups()),
};

/**
 * @param name Of a backend: 'embedded', 'umad' or 'rdmacm'.
 * @returns `provider`, its first `device` and `port`; `make()` for another provider; `request(n)` for
 * the nth of 65,536 groups there; `settled()`, which resolves when all has left, and throws what has not.
 */
export function backendOf(name) {
  const make = makers[name];
  if (make === undefined) throw new Error(`there is no backend ${name}`);
  const provider = make();
  const [{ device, port }] = provider.ports();
  const record = name === 'rdmacm' ? {} : CREATION;
  return {
    name,
    make,
    provider,
    device,
    port,
    request: (n, fields = {}) => ({
      provider,
      device,
      port,
      group: `239.77.${n >> 8}.${n & 0xff}`,
      record: { ...record, ...fields },
    }),
    async settled(what = provider) {
      await what.idle();
      const { handlesAlive, groups, leavesFailed } = what.stats();
      const left = { handlesAlive, groups, leavesFailed, members: members[name](what) };
      if (handlesAlive + groups + leavesFailed + left.members.length > 0) {
        throw new Error(`not left: ${JSON.stringify(left)}`);
      }
    },
  };
}
