/**
 * Where packets go so that every member of a group gets them: what an address handle of a queue pair
 * is made from. The fields are those of the kernel's `rdma_ah_attr`.
 */
export interface AddressHandle {
  readonly type: 'infiniband' | 'roce';
  /** 1-based number of the port that sends. */
  readonly port: number;
  /** Destination LID: the group's multicast LID. 0 on RoCE, which has none. */
  readonly dlid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Gb/s that the sender keeps to; 0: the port's own rate. */
  readonly staticRate: number;
  /** Packets to a multicast group always carry a global route header. */
  readonly grh: GlobalRoute;
  /** RoCE only: destination MAC address, `'01:00:5e:01:02:03'`. */
  readonly dmac?: string;
}

/** The fields of a global route header. */
export interface GlobalRoute {
  /** Index of the source GID in the port's GID table. */
  readonly sgidIndex: number;
  /** Destination GID: the MGID. */
  readonly dgid: string;
  /** 0 to 0xfffff. */
  readonly flowLabel: number;
  /** 0 to 255. */
  readonly hopLimit: number;
  /** 0 to 255. */
  readonly trafficClass: number;
}
