// librdmacm.so.1 as a table of functions, with the part of its binary interface that we use. The
// declarations are our own; a test compares them with the real ones where those are installed.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rdma/shared_library.h"
#include "rdma/verbs_library.h"

namespace rxib::rdma {

namespace abi {

/** Address family of InfiniBand addresses; older C libraries have no name for it. */
constexpr int kAddressFamilyInfiniBand = 27;

/** An address of family 27. Multi-byte fields are big-endian but for the family and the scope. */
struct InfiniBandAddress {
  unsigned short family;
  uint16_t pkey;
  uint32_t flowInfo;
  alignas(8) uint8_t gid[16];
  uint64_t serviceId;
  uint64_t serviceMask;
  uint64_t scopeId;
};

struct CmChannel {
  int fd;
};

struct CmAddress {
  sockaddr_storage source;
  sockaddr_storage destination;
  alignas(8) uint8_t sourceGid[16];
  alignas(8) uint8_t destinationGid[16];
  alignas(8) uint16_t pkey;  // big-endian
};

struct CmRoute {
  CmAddress address;
  void* pathRecords;
  int pathCount;
};

/** The head of an identifier; the library has more behind it. */
struct CmId {
  VerbsContext* verbs;
  CmChannel* channel;
  void* context;
  void* queuePair;
  CmRoute route;
  int portSpace;
  uint8_t port;
};

struct GlobalRoute {
  alignas(8) uint8_t destinationGid[16];
  uint32_t flowLabel;
  uint8_t sourceGidIndex;
  uint8_t hopLimit;
  uint8_t trafficClass;
};

struct AddressAttributes {
  GlobalRoute route;
  uint16_t lid;
  uint8_t sl;
  uint8_t sourcePathBits;
  uint8_t staticRate;
  uint8_t isGlobal;
  uint8_t port;
};

struct CmDatagramParameters {
  const void* privateData;
  uint8_t privateDataLength;
  AddressAttributes address;
  uint32_t queuePairNumber;
  uint32_t qkey;
};

struct CmEvent {
  CmId* id;
  CmId* listenId;
  int type;
  int status;
  CmDatagramParameters datagram;
};

struct CmJoinAttributes {
  uint32_t mask;
  uint32_t flags;
  sockaddr* address;
};

enum CmPortSpace : int { kCmPortSpaceIpoib = 0x0002, kCmPortSpaceUdp = 0x0111 };

enum CmEventType : int {
  kCmDeviceRemoval = 11,
  kCmMulticastJoin = 12,
  kCmMulticastError = 13,
  kCmAddressChange = 14,
};

constexpr uint32_t kCmJoinAddress = 1;
constexpr uint32_t kCmJoinFlags = 2;
constexpr uint32_t kCmSendOnlyFullMember = 1;

}  // namespace abi

/** Semantics are librdmacm's own: -1 and errno for a failure. */
struct RdmaCmLibrary {
  /** Opens every device there is, for as long as the library likes. */
  void** (*getDevices)(int* count);
  void (*freeDevices)(void** devices);
  abi::CmChannel* (*createChannel)();
  void (*destroyChannel)(abi::CmChannel* channel);
  int (*createId)(abi::CmChannel* channel, abi::CmId** id, void* context, int portSpace);
  int (*destroyId)(abi::CmId* id);
  int (*bindAddress)(abi::CmId* id, sockaddr* address);
  int (*joinMulticast)(abi::CmId* id, sockaddr* address, void* context);
  /** Null in a library that is too old for it. */
  int (*joinMulticastExtended)(abi::CmId* id, abi::CmJoinAttributes* attributes, void* context);
  int (*leaveMulticast)(abi::CmId* id, sockaddr* address);
  int (*getEvent)(abi::CmChannel* channel, abi::CmEvent** event);
  int (*acknowledge)(abi::CmEvent* event);
};

/** As umadLibrary(). */
std::shared_ptr<const RdmaCmLibrary> rdmaCmLibrary(std::string& why);

}  // namespace rxib::rdma
