import type { Diagram } from './diagram.js';
import * as joinMulticast from './join-multicast.js';
import * as joinMulticastAll from './join-multicast-all.js';
import * as joinMulticastPromise from './join-multicast-promise.js';
import * as rejoinOnReset from './rejoin-on-reset.js';
import * as shareMembership from './share-membership.js';
import * as trackMembership from './track-membership.js';
import * as whileJoined from './while-joined.js';

/** Every diagram of the documentation. */
export const DIAGRAMS: readonly Diagram[] = [
  joinMulticast,
  rejoinOnReset,
  whileJoined,
  shareMembership,
  trackMembership,
  joinMulticastAll,
  joinMulticastPromise,
].flatMap((page) => Object.values(page));
