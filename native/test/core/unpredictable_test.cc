#include "core/unpredictable.h"

#include <set>

#include "test/check.h"

namespace {

using namespace rxib;

TEST("unpredictable: hardly ever the same, and every bit is both") {
  std::set<uint64_t> drawn;
  uint64_t ones = 0;
  uint64_t zeros = 0;
  for (int i = 0; i < 64; ++i) {
    const uint64_t bits = unpredictable();
    drawn.insert(bits);
    ones |= bits;
    zeros |= ~bits;
  }
  CHECK_EQ(drawn.size(), 64u);
  CHECK_EQ(ones & zeros, UINT64_MAX);
}

}  // namespace
