// Our declarations of librdmacm's binary interface against the real ones, where those are
// installed.
#include "rdma/rdmacm_library.h"

#if __has_include(<rdma/rdma_cma.h>)

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

#include <type_traits>

namespace {

namespace abi = rxib::rdma::abi;

#define SAME_PLACE(ours, member, theirs, path) \
  static_assert(offsetof(ours, member) == offsetof(theirs, path), #theirs "." #path)

static_assert(sizeof(abi::InfiniBandAddress) == sizeof(sockaddr_ib));
SAME_PLACE(abi::InfiniBandAddress, family, sockaddr_ib, sib_family);
SAME_PLACE(abi::InfiniBandAddress, pkey, sockaddr_ib, sib_pkey);
SAME_PLACE(abi::InfiniBandAddress, gid, sockaddr_ib, sib_addr);
SAME_PLACE(abi::InfiniBandAddress, serviceId, sockaddr_ib, sib_sid);
SAME_PLACE(abi::InfiniBandAddress, scopeId, sockaddr_ib, sib_scope_id);
static_assert(abi::kAddressFamilyInfiniBand == AF_IB);

SAME_PLACE(abi::CmChannel, fd, rdma_event_channel, fd);

SAME_PLACE(abi::CmId, verbs, rdma_cm_id, verbs);
SAME_PLACE(abi::CmId, channel, rdma_cm_id, channel);
SAME_PLACE(abi::CmId, context, rdma_cm_id, context);
SAME_PLACE(abi::CmId, route.address.source, rdma_cm_id, route.addr.src_storage);
SAME_PLACE(abi::CmId, route.address.destination, rdma_cm_id, route.addr.dst_storage);
SAME_PLACE(abi::CmId, route.address.sourceGid, rdma_cm_id, route.addr.addr.ibaddr.sgid);
SAME_PLACE(abi::CmId, route.address.pkey, rdma_cm_id, route.addr.addr.ibaddr.pkey);
SAME_PLACE(abi::CmId, route.pathRecords, rdma_cm_id, route.path_rec);
SAME_PLACE(abi::CmId, portSpace, rdma_cm_id, ps);
SAME_PLACE(abi::CmId, port, rdma_cm_id, port_num);

static_assert(sizeof(abi::AddressAttributes) == sizeof(ibv_ah_attr));
SAME_PLACE(abi::AddressAttributes, route.destinationGid, ibv_ah_attr, grh.dgid);
SAME_PLACE(abi::AddressAttributes, route.flowLabel, ibv_ah_attr, grh.flow_label);
SAME_PLACE(abi::AddressAttributes, route.sourceGidIndex, ibv_ah_attr, grh.sgid_index);
SAME_PLACE(abi::AddressAttributes, route.hopLimit, ibv_ah_attr, grh.hop_limit);
SAME_PLACE(abi::AddressAttributes, route.trafficClass, ibv_ah_attr, grh.traffic_class);
SAME_PLACE(abi::AddressAttributes, lid, ibv_ah_attr, dlid);
SAME_PLACE(abi::AddressAttributes, sl, ibv_ah_attr, sl);
SAME_PLACE(abi::AddressAttributes, staticRate, ibv_ah_attr, static_rate);
SAME_PLACE(abi::AddressAttributes, isGlobal, ibv_ah_attr, is_global);
SAME_PLACE(abi::AddressAttributes, port, ibv_ah_attr, port_num);

SAME_PLACE(abi::CmEvent, id, rdma_cm_event, id);
SAME_PLACE(abi::CmEvent, type, rdma_cm_event, event);
SAME_PLACE(abi::CmEvent, status, rdma_cm_event, status);
SAME_PLACE(abi::CmEvent, datagram.privateData, rdma_cm_event, param.ud.private_data);
SAME_PLACE(abi::CmEvent, datagram.address, rdma_cm_event, param.ud.ah_attr);
SAME_PLACE(abi::CmEvent, datagram.queuePairNumber, rdma_cm_event, param.ud.qp_num);
SAME_PLACE(abi::CmEvent, datagram.qkey, rdma_cm_event, param.ud.qkey);
static_assert(sizeof(abi::CmEvent) == sizeof(rdma_cm_event));

static_assert(sizeof(abi::CmJoinAttributes) == sizeof(rdma_cm_join_mc_attr_ex));
SAME_PLACE(abi::CmJoinAttributes, mask, rdma_cm_join_mc_attr_ex, comp_mask);
SAME_PLACE(abi::CmJoinAttributes, flags, rdma_cm_join_mc_attr_ex, join_flags);
SAME_PLACE(abi::CmJoinAttributes, address, rdma_cm_join_mc_attr_ex, addr);
static_assert(abi::kCmJoinAddress == RDMA_CM_JOIN_MC_ATTR_ADDRESS);
static_assert(abi::kCmJoinFlags == RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS);
static_assert(abi::kCmSendOnlyFullMember == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);

static_assert(int{abi::kCmPortSpaceIpoib} == int{RDMA_PS_IPOIB});
static_assert(int{abi::kCmPortSpaceUdp} == int{RDMA_PS_UDP});
static_assert(int{abi::kCmDeviceRemoval} == int{RDMA_CM_EVENT_DEVICE_REMOVAL});
static_assert(int{abi::kCmMulticastJoin} == int{RDMA_CM_EVENT_MULTICAST_JOIN});
static_assert(int{abi::kCmMulticastError} == int{RDMA_CM_EVENT_MULTICAST_ERROR});
static_assert(int{abi::kCmAddressChange} == int{RDMA_CM_EVENT_ADDR_CHANGE});

static_assert(
    std::is_same_v<decltype(&rdma_join_multicast), int (*)(rdma_cm_id*, sockaddr*, void*)>);
static_assert(std::is_same_v<decltype(&rdma_join_multicast_ex),
                             int (*)(rdma_cm_id*, rdma_cm_join_mc_attr_ex*, void*)>);
static_assert(std::is_same_v<decltype(&rdma_leave_multicast), int (*)(rdma_cm_id*, sockaddr*)>);
static_assert(std::is_same_v<decltype(&rdma_bind_addr), int (*)(rdma_cm_id*, sockaddr*)>);

}  // namespace

#endif
