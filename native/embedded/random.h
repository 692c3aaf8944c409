// Randomness with the same results on every platform, which the standard distributions do not give.
#pragma once

#include <cstdint>

#include "core/clock.h"

namespace rxib::embedded {

/** SplitMix64. */
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t mixed = state_ += 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
  }

  /** In [0, 1). */
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /** A certain or impossible event takes nothing from the sequence. */
  bool happens(double probability) {
    if (probability <= 0) return false;
    return probability >= 1 || unit() < probability;
  }

  /** A part of `whole`, below it. */
  Duration part(Duration whole) {
    return Duration{static_cast<Duration::rep>(static_cast<double>(whole.count()) * unit())};
  }

 private:
  uint64_t state_;
};

}  // namespace rxib::embedded
