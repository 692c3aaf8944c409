#include "umad/port_change.h"

namespace rxib::umad {

std::optional<PortEvent> portChange(const PortState& before, const PortState& after) {
  PortEvent event;
  if (before.active() != after.active()) {
    event.reason = after.active() ? ResetReason::kNone : ResetReason::kPortError;
    return event;
  }
  if (!after.active()) return std::nullopt;
  if (before.lid != after.lid) {
    event.reason = ResetReason::kLidChange;
  } else if (before.smLid != after.smLid || before.smSl != after.smSl) {
    event.reason = ResetReason::kSmChange;
  } else if (before.gid != after.gid) {
    event.reason = ResetReason::kGidChange;
  } else if (before.pkeys != after.pkeys) {
    event.reason = ResetReason::kPkeyChange;
    event.pkeysBefore = before.pkeys;
  } else {
    return std::nullopt;
  }
  return event;
}

}  // namespace rxib::umad
