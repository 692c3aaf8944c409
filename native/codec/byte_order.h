// Big-endian reads and writes. The caller has checked the bounds.
#pragma once

#include <cstdint>

namespace rxib::codec {

inline uint16_t read16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t read32(const uint8_t* p) {
  return static_cast<uint32_t>(read16(p)) << 16 | read16(p + 2);
}
inline uint64_t read64(const uint8_t* p) {
  return static_cast<uint64_t>(read32(p)) << 32 | read32(p + 4);
}
inline void write16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v >> 8);
  p[1] = static_cast<uint8_t>(v);
}
inline void write32(uint8_t* p, uint32_t v) {
  write16(p, static_cast<uint16_t>(v >> 16));
  write16(p + 2, static_cast<uint16_t>(v));
}
inline void write64(uint8_t* p, uint64_t v) {
  write32(p, static_cast<uint32_t>(v >> 32));
  write32(p + 4, static_cast<uint32_t>(v));
}

}  // namespace rxib::codec
