// Which MGIDs a subnet manager accepts for a group, and how it makes one up itself.
#pragma once

#include <cstdint>

#include "codec/gid.h"

namespace rxib::embedded {

constexpr uint16_t kSignatureIpv4 = 0x401b;
constexpr uint16_t kSignatureIpv6 = 0x601b;
constexpr uint16_t kSignatureSaAssigned = 0xa01b;
constexpr uint8_t kScopeLinkLocal = 2;

/** The 16 bits after flags and scope, which say who shaped the rest of the MGID. */
uint16_t mgidSignature(const Gid& mgid);

/** Made by the IPoIB mapping of RFC 4391: it belongs to the broadcast group of its partition. */
bool isIpoibMgid(const Gid& mgid);

/**
 * Whether a client may ask for this MGID. IPoIB MGIDs are judged by their broadcast group instead
 * of by their flags; link-local MGIDs with the SA's own signature are for the SA alone to give.
 */
bool isAcceptableMgid(const Gid& mgid);

/** The IPv4 broadcast MGID with the scope and P_Key that `mgid`, an IPoIB MGID, carries. */
Gid broadcastMgidFor(const Gid& mgid);

Gid broadcastMgid(uint8_t scope, uint16_t pkey);

/** What the SA gives to the client that asks for MGID 0; `serial` makes it unique. */
Gid assignedMgid(uint8_t scope, uint64_t subnetPrefix, uint32_t serial);

}  // namespace rxib::embedded
