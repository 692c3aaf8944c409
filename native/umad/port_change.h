// What a fresh look at the port means to the memberships on it.
#pragma once

#include <optional>

#include "core/port.h"

namespace rxib::umad {

/**
 * The one event that tells the difference, or nothing. Where several things changed at once the
 * first of these is named: port error, LID, SM, GID, P_Key table. Every one but the last resets all
 * groups, so that nothing is lost by naming one. What changes while the port is not active is no
 * event: everything was reset when it went down.
 */
std::optional<PortEvent> portChange(const PortState& before, const PortState& after);

}  // namespace rxib::umad
