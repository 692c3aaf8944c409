// What has to be asked so that the subnet administrator reports on groups.
#pragma once

#include <cstdint>

#include "core/ask.h"

namespace rxib::sa {

/** A subscription to one trap of the subnet administrator's own: kTrapGroupCreated, for one. */
AskSpec subscriptionTo(uint16_t trap);

}  // namespace rxib::sa
