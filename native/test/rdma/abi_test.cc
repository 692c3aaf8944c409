// Our declarations of rdma-core's binary interface against its own headers, where those are
// installed. Nothing here runs: a difference does not compile.
#include "rdma/umad_library.h"
#include "rdma/verbs_library.h"

#if __has_include(<infiniband/umad.h>)
#include <infiniband/umad.h>

#include <type_traits>

#include "check.h"

namespace rxib::rdma::abi {
namespace {

#define SAME_FIELD(ours, our, theirs, their)                                                  \
  static_assert(offsetof(ours, our) == offsetof(theirs, their) &&                             \
                    sizeof(std::declval<ours>().our) == sizeof(std::declval<theirs>().their), \
                #ours "::" #our)

static_assert(sizeof(UmadAddress) == sizeof(ib_mad_addr_t));
SAME_FIELD(UmadAddress, qpn, ib_mad_addr_t, qpn);
SAME_FIELD(UmadAddress, qkey, ib_mad_addr_t, qkey);
SAME_FIELD(UmadAddress, lid, ib_mad_addr_t, lid);
SAME_FIELD(UmadAddress, sl, ib_mad_addr_t, sl);
SAME_FIELD(UmadAddress, grhPresent, ib_mad_addr_t, grh_present);
SAME_FIELD(UmadAddress, gidIndex, ib_mad_addr_t, gid_index);
SAME_FIELD(UmadAddress, hopLimit, ib_mad_addr_t, hop_limit);
SAME_FIELD(UmadAddress, trafficClass, ib_mad_addr_t, traffic_class);
SAME_FIELD(UmadAddress, gid, ib_mad_addr_t, gid);
SAME_FIELD(UmadAddress, flowLabel, ib_mad_addr_t, flow_label);
SAME_FIELD(UmadAddress, pkeyIndex, ib_mad_addr_t, pkey_index);

static_assert(kUmadNameLength == UMAD_CA_NAME_LEN);
static_assert(kUmadMaxDevices == UMAD_MAX_DEVICES);
static_assert(kUmadMaxPorts == UMAD_CA_MAX_PORTS);
static_assert(sizeof(UmadPort) == sizeof(umad_port_t));
SAME_FIELD(UmadPort, deviceName, umad_port_t, ca_name);
SAME_FIELD(UmadPort, number, umad_port_t, portnum);
SAME_FIELD(UmadPort, baseLid, umad_port_t, base_lid);
SAME_FIELD(UmadPort, smLid, umad_port_t, sm_lid);
SAME_FIELD(UmadPort, smSl, umad_port_t, sm_sl);
SAME_FIELD(UmadPort, state, umad_port_t, state);
SAME_FIELD(UmadPort, gidPrefix, umad_port_t, gid_prefix);
SAME_FIELD(UmadPort, portGuid, umad_port_t, port_guid);
SAME_FIELD(UmadPort, pkeyCount, umad_port_t, pkeys_size);
SAME_FIELD(UmadPort, pkeys, umad_port_t, pkeys);
SAME_FIELD(UmadPort, linkLayer, umad_port_t, link_layer);

static_assert(sizeof(UmadDevice) == sizeof(umad_ca_t));
SAME_FIELD(UmadDevice, name, umad_ca_t, ca_name);
SAME_FIELD(UmadDevice, portCount, umad_ca_t, numports);
SAME_FIELD(UmadDevice, ports, umad_ca_t, ports);

/** Same parameters, up to pointers to structures, which are ours on one side. */
template <typename T>
struct Plain {
  using type = T;
};
template <typename T>
struct Plain<T*> {
  using type = void*;
};
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2(A2...)>
    : std::bool_constant<
          sizeof...(A1) == sizeof...(A2) &&
          std::is_same_v<void(typename Plain<R1>::type, typename Plain<A1>::type...),
                         void(typename Plain<R2>::type, typename Plain<A2>::type...)>> {};

#define SAME_CALL(field, function) \
  static_assert(SameCall<decltype(UmadLibrary::field), decltype(function)>::value, #function)

SAME_CALL(init, umad_init);
SAME_CALL(getDeviceNames, umad_get_cas_names);
SAME_CALL(getDevice, umad_get_ca);
SAME_CALL(releaseDevice, umad_release_ca);
SAME_CALL(getPort, umad_get_port);
SAME_CALL(releasePort, umad_release_port);
SAME_CALL(openPort, umad_open_port);
SAME_CALL(closePort, umad_close_port);
SAME_CALL(headerSize, umad_size);
SAME_CALL(mad, umad_get_mad);
SAME_CALL(status, umad_status);
SAME_CALL(address, umad_get_mad_addr);
SAME_CALL(setAddress, umad_set_addr);
SAME_CALL(setPkey, umad_set_pkey);
SAME_CALL(setGrh, umad_set_grh);
SAME_CALL(registerAgent, umad_register);
SAME_CALL(unregisterAgent, umad_unregister);
SAME_CALL(send, umad_send);
SAME_CALL(receive, umad_recv);

}  // namespace
}  // namespace rxib::rdma::abi
#endif

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

namespace rxib::rdma::abi {
namespace {

static_assert(sizeof(VerbsContext) == sizeof(ibv_context));
static_assert(offsetof(VerbsContext, asyncFd) == offsetof(ibv_context, async_fd));
static_assert(offsetof(VerbsContext, abiCompat) == offsetof(ibv_context, abi_compat));
static_assert(sizeof(VerbsExtension) == sizeof(verbs_context));
static_assert(offsetof(VerbsExtension, queryPort) == offsetof(verbs_context, query_port));
static_assert(offsetof(VerbsExtension, size) == offsetof(verbs_context, sz));
static_assert(offsetof(VerbsExtension, context) == offsetof(verbs_context, context));
static_assert(sizeof(VerbsPort) == sizeof(ibv_port_attr));
static_assert(offsetof(VerbsPort, flags) == offsetof(ibv_port_attr, flags));
static_assert(kVerbsPortNeedsGrh == IBV_QPF_GRH_REQUIRED);
static_assert(sizeof(VerbsEvent) == sizeof(ibv_async_event));
static_assert(offsetof(VerbsEvent, type) == offsetof(ibv_async_event, event_type));
static_assert(kVerbsDeviceFatal == static_cast<int>(IBV_EVENT_DEVICE_FATAL));
static_assert(kVerbsPortActive == static_cast<int>(IBV_EVENT_PORT_ACTIVE));
static_assert(kVerbsPortError == static_cast<int>(IBV_EVENT_PORT_ERR));
static_assert(kVerbsLidChange == static_cast<int>(IBV_EVENT_LID_CHANGE));
static_assert(kVerbsPkeyChange == static_cast<int>(IBV_EVENT_PKEY_CHANGE));
static_assert(kVerbsSmChange == static_cast<int>(IBV_EVENT_SM_CHANGE));
static_assert(kVerbsClientReregister == static_cast<int>(IBV_EVENT_CLIENT_REREGISTER));
static_assert(kVerbsGidChange == static_cast<int>(IBV_EVENT_GID_CHANGE));

}  // namespace
}  // namespace rxib::rdma::abi
#endif
