// What is known about a port of an RDMA device, and what can happen to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/gid.h"

namespace rxib {

/** Why active memberships were reset. The order is part of the addon's interface. */
enum class ResetReason : uint8_t {
  kNone = 0,
  kPortError,
  kLidChange,
  kSmChange,
  kClientReregister,
  kPkeyChange,
  kGidChange,
  kMembershipLost,
  kAddressChange,
  kDeviceRemoved,
  kGroupError,
};

enum class LinkLayer : uint8_t { kUnknown = 0, kInfiniBand, kEthernet };

/** Logical port states as PortInfo counts them. */
enum class PortPhase : uint8_t {
  kUnknown = 0,
  kDown = 1,
  kInitialize = 2,
  kArmed = 3,
  kActive = 4
};

/** Live state of one port. */
struct PortState {
  PortPhase phase = PortPhase::kUnknown;
  LinkLayer linkLayer = LinkLayer::kUnknown;
  uint16_t lid = 0;
  uint16_t smLid = 0;  // 0: no subnet manager known
  uint8_t smSl = 0;
  Gid gid;                      // GID index 0, the port's own
  std::vector<uint16_t> pkeys;  // by index; 0 is an empty slot

  bool active() const { return phase == PortPhase::kActive; }
};

/** A port as discovery lists it. */
struct PortInfo {
  std::string device;
  uint8_t port = 0;
  PortState state;
};

/**
 * Something happened to the port; `MadTransport::port()` already shows the state after it. A P_Key
 * change resets only the groups whose P_Key moved or vanished, so it carries the table before it.
 */
struct PortEvent {
  ResetReason reason = ResetReason::kNone;  // kNone: the port became active again, nothing is lost
  std::vector<uint16_t> pkeysBefore;
};

}  // namespace rxib
