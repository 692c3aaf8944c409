#include "core/unpredictable.h"

#include <cstdio>

#include "core/clock.h"

namespace rxib {

// Not std::random_device: linked statically, it needs a newer glibc than a prebuilt binary may.
uint64_t unpredictable() {
  uint64_t value = static_cast<uint64_t>(steadyNow().time_since_epoch().count());
  if (std::FILE* source = std::fopen("/dev/urandom", "rb")) {
    uint64_t random = 0;
    if (std::fread(&random, sizeof random, 1, source) == 1) value ^= random;
    std::fclose(source);
  }
  return value;
}

}  // namespace rxib
