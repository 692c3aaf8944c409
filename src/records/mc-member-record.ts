/** One of the four kinds of membership a port can hold in a group, by their names in the InfiniBand specification. */
export type JoinState =
  'full-member' | 'non-member' | 'send-only-non-member' | 'send-only-full-member';

/** How the value beside it is meant when a group is created or joined. */
export type Selector = 'greater-than' | 'less-than' | 'exactly' | 'largest-available';

/**
 * An MCMemberRecord as the subnet administrator reported it.
 *
 * Units: `mtu` in bytes, `rate` in Gb/s, `packetLifeTime` as the exponent n of 4.096 us * 2^n.
 * A code that the specification does not define gives 0 in `mtu` or `rate`; the code itself is
 * kept in `mtuCode` and `rateCode`.
 */
export interface McMemberRecord {
  /** Multicast GID, RFC 5952 text in lower case, never dotted. */
  readonly mgid: string;
  /** GID of the member port. */
  readonly portGid: string;
  /** Q_Key, 0 to 0xffffffff. */
  readonly qkey: number;
  /** Multicast LID, 0xc000 to 0xfffe. */
  readonly mlid: number;
  /** MTU in bytes: 256, 512, 1024, 2048 or 4096. */
  readonly mtu: number;
  /** The MTU's code on the wire, 1 to 5. */
  readonly mtuCode: number;
  readonly mtuSelector: Selector;
  /** Traffic class, 0 to 255. */
  readonly trafficClass: number;
  /** P_Key, 0 to 0xffff. */
  readonly pkey: number;
  /** Rate in Gb/s. */
  readonly rate: number;
  /** The rate's code on the wire, 2 to 25. */
  readonly rateCode: number;
  readonly rateSelector: Selector;
  /** n of 4.096 us * 2^n, 0 to 63. */
  readonly packetLifeTime: number;
  readonly packetLifeTimeSelector: Selector;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Flow label, 0 to 0xfffff. */
  readonly flowLabel: number;
  /** Hop limit, 0 to 255. */
  readonly hopLimit: number;
  /** Scope, 0 to 15. */
  readonly scope: number;
  /** What this membership holds: one or several states. */
  readonly joinState: readonly JoinState[];
  readonly proxyJoin: boolean;
}

/**
 * The record of a join request: what the group must have, or is created with. Every field that is
 * present sets its bit in the component mask; a value without a selector is meant `exactly`.
 */
export interface McMemberRecordInit {
  /** Multicast GID in any usual IPv6 spelling, `'::'` to have one assigned by the subnet administrator. */
  mgid?: string | undefined;
  /** Default: the port's own GID. */
  portGid?: string | undefined;
  qkey?: number | undefined;
  mlid?: number | undefined;
  /** Bytes: 256, 512, 1024, 2048 or 4096. */
  mtu?: number | undefined;
  mtuSelector?: Selector | undefined;
  trafficClass?: number | undefined;
  pkey?: number | undefined;
  /** Gb/s, one of the rates of the InfiniBand specification: 2.5 to 1600. */
  rate?: number | undefined;
  rateSelector?: Selector | undefined;
  packetLifeTime?: number | undefined;
  packetLifeTimeSelector?: Selector | undefined;
  sl?: number | undefined;
  flowLabel?: number | undefined;
  hopLimit?: number | undefined;
  scope?: number | undefined;
  /** Default `'full-member'`. */
  joinState?: JoinState | readonly JoinState[] | undefined;
  proxyJoin?: boolean | undefined;
  /** Of a reported record only: a request says `mtu`. */
  mtuCode?: never;
  /** Of a reported record only: a request says `rate`. */
  rateCode?: never;
}
