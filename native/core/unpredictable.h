// A start for counters and generators that outsiders must not foresee.
#pragma once

#include <cstdint>

namespace rxib {

/** 64 bits from the system's random device; from the clock where there is none. */
uint64_t unpredictable();

}  // namespace rxib
