// Time as the engine sees it: handed in by whoever drives a machine, never read from the system
// inside one. That is what lets the same state machine run under a manual clock.
#pragma once

#include <chrono>

namespace rxib {

using Duration = std::chrono::microseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

constexpr Instant kNever = Instant::max();

inline Instant steadyNow() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

/** `from + delay`, where a delay of Duration::max() means never. */
inline Instant after(Instant from, Duration delay) {
  if (delay == Duration::max() || from > kNever - delay) return kNever;
  return from + delay;
}

}  // namespace rxib
