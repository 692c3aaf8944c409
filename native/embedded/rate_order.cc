#include "embedded/rate_order.h"

#include "codec/units.h"

namespace rxib::embedded {
namespace {

constexpr uint8_t kSlowestCode = 2;
constexpr uint8_t kNewestKnownCode = 22;

/** An unknown rate is slower than any other. */
double speed(uint8_t code) { return isKnownRate(code) ? codec::rateGbps(code).value_or(0) : 0; }

}  // namespace

bool isKnownRate(uint8_t code) { return code >= kSlowestCode && code <= kNewestKnownCode; }

int compareRates(uint8_t a, uint8_t b) {
  const double left = speed(a);
  const double right = speed(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

uint8_t nextSlowerRate(uint8_t code) {
  uint8_t best = 0;
  for (uint8_t other = kSlowestCode; other <= kNewestKnownCode; ++other) {
    if (compareRates(other, code) >= 0) continue;
    if (best == 0 || compareRates(other, best) > 0) best = other;
  }
  return best;
}

}  // namespace rxib::embedded
