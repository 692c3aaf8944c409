#include "embedded/mgid_rules.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib::embedded {
namespace {

constexpr uint8_t kMulticastPrefix = 0xff;
constexpr uint8_t kReservedFlags =
    0xe0;  // of the four flags only the lowest, transient, is defined
constexpr uint8_t kTransient = 0x10;
constexpr uint8_t kScopeMask = 0x0f;

}  // namespace

uint16_t mgidSignature(const Gid& mgid) { return codec::read16(mgid.bytes.data() + 2); }

bool isIpoibMgid(const Gid& mgid) {
  const uint16_t signature = mgidSignature(mgid);
  return mgid.bytes[0] == kMulticastPrefix &&
         (signature == kSignatureIpv4 || signature == kSignatureIpv6);
}

bool isAcceptableMgid(const Gid& mgid) {
  if (mgid.bytes[0] != kMulticastPrefix) return false;
  if (isIpoibMgid(mgid)) return true;
  if ((mgid.bytes[1] & kReservedFlags) != 0) return false;
  return mgidSignature(mgid) != kSignatureSaAssigned ||
         (mgid.bytes[1] & kScopeMask) != kScopeLinkLocal;
}

Gid broadcastMgid(uint8_t scope, uint16_t pkey) {
  Gid mgid;
  mgid.bytes[0] = kMulticastPrefix;
  mgid.bytes[1] = static_cast<uint8_t>(kTransient | (scope & kScopeMask));
  codec::write16(mgid.bytes.data() + 2, kSignatureIpv4);
  codec::write16(mgid.bytes.data() + 4, pkey);
  std::fill(mgid.bytes.begin() + 12, mgid.bytes.end(), uint8_t{0xff});
  return mgid;
}

Gid broadcastMgidFor(const Gid& mgid) {
  return broadcastMgid(mgid.bytes[1] & kScopeMask, codec::read16(mgid.bytes.data() + 4));
}

Gid assignedMgid(uint8_t scope, uint64_t subnetPrefix, uint32_t serial) {
  Gid mgid;
  mgid.bytes[0] = kMulticastPrefix;
  mgid.bytes[1] = static_cast<uint8_t>(kTransient | (scope & kScopeMask));
  codec::write16(mgid.bytes.data() + 2, kSignatureSaAssigned);
  codec::write64(mgid.bytes.data() + 4, subnetPrefix);
  // OpenSM lays its counter, low byte first, over the last two bytes of the prefix.
  for (int i = 0; i < 4; ++i) mgid.bytes[10 + i] = static_cast<uint8_t>(serial >> (8 * i));
  return mgid;
}

}  // namespace rxib::embedded
