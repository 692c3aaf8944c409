// Rates as the subnet manager orders them. The codes were given out as link speeds appeared, so
// only the speeds behind them can be compared.
#pragma once

#include <cstdint>

namespace rxib::embedded {

/** The codes OpenSM 3.3.23 knows: 2 to 22. The newer ones it refuses. */
bool isKnownRate(uint8_t code);

/** Negative, 0 or positive, as `a` is slower than, as fast as or faster than `b`. */
int compareRates(uint8_t a, uint8_t b);

/** The next slower known rate; 0 when there is none. */
uint8_t nextSlowerRate(uint8_t code);

}  // namespace rxib::embedded
