// A 128-bit GID or MGID in network byte order, as it stands on the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rxib {

struct Gid {
  std::array<uint8_t, 16> bytes{};

  bool isZero() const { return *this == Gid{}; }
  bool operator==(const Gid& other) const { return bytes == other.bytes; }
  bool operator!=(const Gid& other) const { return bytes != other.bytes; }
  bool operator<(const Gid& other) const { return bytes < other.bytes; }
};

struct GidHash {
  size_t operator()(const Gid& gid) const {
    uint64_t high = 0;
    uint64_t low = 0;
    std::memcpy(&high, gid.bytes.data(), 8);
    std::memcpy(&low, gid.bytes.data() + 8, 8);
    // Groups of one application differ in a few low bytes only, so both halves are mixed.
    uint64_t mixed = (high ^ (low * 0x9E3779B97F4A7C15ull)) * 0xBF58476D1CE4E5B9ull;
    return static_cast<size_t>(mixed ^ (mixed >> 31));
  }
};

}  // namespace rxib
