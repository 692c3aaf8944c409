// libibumad.so.3 as a table of functions, with the part of its binary interface that we use. The
// declarations are our own, so that building needs no rdma-core headers; a test compares them with
// the real ones where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rdma/shared_library.h"

namespace rxib::rdma {

namespace abi {

constexpr size_t kUmadNameLength = 20;
constexpr int kUmadMaxDevices = 32;
constexpr int kUmadMaxPorts = 10;  // ports 0 to 9

/** Multi-byte fields are big-endian unless said otherwise. */
struct UmadAddress {
  uint32_t qpn;
  uint32_t qkey;
  uint16_t lid;
  uint8_t sl;
  uint8_t pathBits;
  uint8_t grhPresent;
  uint8_t gidIndex;
  uint8_t hopLimit;
  uint8_t trafficClass;
  uint8_t gid[16];
  uint32_t flowLabel;
  uint16_t pkeyIndex;  // host order
  uint8_t reserved[6];
};

/** Host order, apart from the fields with a comment. */
struct UmadPort {
  char deviceName[kUmadNameLength];
  int number;
  unsigned baseLid;
  unsigned lmc;
  unsigned smLid;
  unsigned smSl;
  unsigned state;
  unsigned physicalState;
  unsigned rate;
  uint32_t capabilityMask;  // big-endian
  uint64_t gidPrefix;       // big-endian
  uint64_t portGuid;        // big-endian
  unsigned pkeyCount;
  uint16_t* pkeys;
  char linkLayer[kUmadNameLength];
};

struct UmadDevice {
  char name[kUmadNameLength];
  unsigned nodeType;
  int portCount;
  char firmwareVersion[20];
  char type[40];
  char hardwareVersion[20];
  uint64_t nodeGuid;               // big-endian
  uint64_t systemGuid;             // big-endian
  UmadPort* ports[kUmadMaxPorts];  // by port number; null where there is none
};

}  // namespace abi

/** Semantics are libibumad's own; a buffer is umad_size() bytes of header and then the MAD. */
struct UmadLibrary {
  int (*init)();
  int (*getDeviceNames)(char names[][abi::kUmadNameLength], int max);
  int (*getDevice)(const char* name, abi::UmadDevice* device);
  int (*releaseDevice)(abi::UmadDevice* device);
  int (*getPort)(const char* name, int number, abi::UmadPort* port);
  int (*releasePort)(abi::UmadPort* port);
  int (*openPort)(const char* name, int number);
  int (*closePort)(int port);
  size_t (*headerSize)();
  void* (*mad)(void* buffer);
  int (*status)(void* buffer);
  abi::UmadAddress* (*address)(void* buffer);
  int (*setAddress)(void* buffer, int lid, int qpn, int sl, int qkey);
  int (*setPkey)(void* buffer, int index);
  int (*setGrh)(void* buffer, void* address);
  int (*registerAgent)(int port, int managementClass, int classVersion, uint8_t rmppVersion,
                       long* methodMask);
  int (*unregisterAgent)(int port, int agent);
  int (*send)(int port, int agent, void* buffer, int length, int timeoutMs, int retries);
  int (*receive)(int port, void* buffer, int* length, int timeoutMs);
};

/**
 * The library of this system, opened at the first call and then kept for the life of the process.
 * Null, and the loader's words in `why`, when it is not installed; a later call tries again.
 */
std::shared_ptr<const UmadLibrary> umadLibrary(std::string& why);

}  // namespace rxib::rdma
