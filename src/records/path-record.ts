import type { Selector } from './mc-member-record.js';

/** What InfiniBand and RoCE paths have in common. */
interface PathFields {
  /** 0n when no service was asked for. */
  readonly serviceId: bigint;
  /** Destination GID, RFC 5952 text in lower case. */
  readonly dgid: string;
  /** Source GID. */
  readonly sgid: string;
  /** Flow label, 0 to 0xfffff. */
  readonly flowLabel: number;
  /** Hop limit, 0 to 255. */
  readonly hopLimit: number;
  /** Traffic class, 0 to 255. */
  readonly trafficClass: number;
  /** Whether the same path leads back. */
  readonly reversible: boolean;
  /** Paths asked for at most, 0 to 127. */
  readonly numbPath: number;
  /** P_Key, 0 to 0xffff. */
  readonly pkey: number;
  /** QoS class, 0 to 0xfff. */
  readonly qosClass: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** MTU in bytes; 0 for a code that the specification does not define. */
  readonly mtu: number;
  /** The MTU's code on the wire. */
  readonly mtuCode: number;
  readonly mtuSelector: Selector;
  /** Rate in Gb/s; 0 for a code that the specification does not define. */
  readonly rate: number;
  /** The rate's code on the wire. */
  readonly rateCode: number;
  readonly rateSelector: Selector;
  /** n of 4.096 us * 2^n, 0 to 63. */
  readonly packetLifeTime: number;
  readonly packetLifeTimeSelector: Selector;
  /** 0 to 255; 0 is preferred. */
  readonly preference: number;
}

/** A PathRecord as the subnet administrator reports it. */
export interface InfiniBandPathRecord extends PathFields {
  readonly type: 'infiniband';
  /** Destination LID. */
  readonly dlid: number;
  /** Source LID. */
  readonly slid: number;
  /** Whether it is a path for raw packets. */
  readonly rawTraffic: boolean;
}

/**
 * A path between RoCE ports. There is no subnet administrator on Ethernet: it is made from the
 * route and the neighbour tables, and never travels as a PathRecord.
 */
export interface RocePathRecord extends PathFields {
  readonly type: 'roce';
  /** 1: Ethernet type 0x8915; 2: UDP port 4791. */
  readonly version: 1 | 2;
  /** Destination MAC address, `'02:00:00:00:00:01'`. */
  readonly dmac: string;
  /** Whether `dmac` was found by a route lookup. */
  readonly routeResolved: boolean;
}

/** How packets get from one port to another; `type` tells the two kinds apart. */
export type PathRecord = InfiniBandPathRecord | RocePathRecord;

/**
 * The fields of a PathRecord to ask for or to pack. Every field that is present sets its bit in the
 * component mask; a value without a selector is meant `exactly`.
 */
export interface PathRecordInit {
  serviceId?: bigint | undefined;
  dgid?: string | undefined;
  sgid?: string | undefined;
  dlid?: number | undefined;
  slid?: number | undefined;
  rawTraffic?: boolean | undefined;
  flowLabel?: number | undefined;
  hopLimit?: number | undefined;
  trafficClass?: number | undefined;
  reversible?: boolean | undefined;
  /** 0 to 127. */
  numbPath?: number | undefined;
  pkey?: number | undefined;
  qosClass?: number | undefined;
  sl?: number | undefined;
  /** Bytes: 256, 512, 1024, 2048 or 4096. */
  mtu?: number | undefined;
  mtuSelector?: Selector | undefined;
  /** Gb/s, one of the rates of the InfiniBand specification: 2.5 to 1600. */
  rate?: number | undefined;
  rateSelector?: Selector | undefined;
  packetLifeTime?: number | undefined;
  packetLifeTimeSelector?: Selector | undefined;
  preference?: number | undefined;
}

/** A field of a PathRecord that has a bit in the component mask. */
export type PathField = keyof PathRecordInit;

/** The bits of the component mask of PathRecord by field; a ServiceID has two. */
export const PATH_COMPONENT_BITS: Readonly<Record<PathField, bigint>> = {
  serviceId: 0b11n,
  dgid: 1n << 2n,
  sgid: 1n << 3n,
  dlid: 1n << 4n,
  slid: 1n << 5n,
  rawTraffic: 1n << 6n,
  flowLabel: 1n << 8n,
  hopLimit: 1n << 9n,
  trafficClass: 1n << 10n,
  reversible: 1n << 11n,
  numbPath: 1n << 12n,
  pkey: 1n << 13n,
  qosClass: 1n << 14n,
  sl: 1n << 15n,
  mtuSelector: 1n << 16n,
  mtu: 1n << 17n,
  rateSelector: 1n << 18n,
  rate: 1n << 19n,
  packetLifeTimeSelector: 1n << 20n,
  packetLifeTime: 1n << 21n,
  preference: 1n << 22n,
};

/** The fields of a PathRecord in the order of their bits. */
export const PATH_FIELDS = Object.keys(PATH_COMPONENT_BITS) as readonly PathField[];

/** The component mask of a PathRecord: the bits of the fields present. */
export function pathComponentMask(record: Readonly<PathRecordInit>): bigint {
  return PATH_FIELDS.reduce(
    (mask, field) => (record[field] === undefined ? mask : mask | PATH_COMPONENT_BITS[field]),
    0n,
  );
}
