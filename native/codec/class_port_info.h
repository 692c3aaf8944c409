// ClassPortInfo: what a management class can do and where it is found. 72 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/gid.h"

namespace rxib {

struct ClassPortInfo {
  uint8_t baseVersion = 0;
  uint8_t classVersion = 0;
  uint16_t capabilityMask = 0;
  uint32_t capabilityMask2 = 0;  // 27 bits
  uint8_t respTimeValue = 0;     // 5 bits, 4.096 us * 2^n
  Gid redirectGid;
  uint8_t redirectTrafficClass = 0;
  uint8_t redirectSl = 0;          // 4 bits
  uint32_t redirectFlowLabel = 0;  // 20 bits
  uint16_t redirectLid = 0;
  uint16_t redirectPkey = 0;
  uint32_t redirectQp = 0;  // 24 bits
  uint32_t redirectQkey = 0;
  Gid trapGid;
  uint8_t trapTrafficClass = 0;
  uint8_t trapSl = 0;          // 4 bits
  uint32_t trapFlowLabel = 0;  // 20 bits
  uint16_t trapLid = 0;
  uint16_t trapPkey = 0;
  uint8_t trapHopLimit = 0;
  uint32_t trapQp = 0;  // 24 bits
  uint32_t trapQkey = 0;

  bool operator==(const ClassPortInfo& other) const;
};

constexpr size_t kClassPortInfoSize = 72;

namespace codec {

/** Writes exactly kClassPortInfoSize bytes; values wider than their field lose the excess bits. */
void packClassPortInfo(const ClassPortInfo& info, uint8_t* out);

/** Reads kClassPortInfoSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackClassPortInfo(const uint8_t* data, size_t length, ClassPortInfo& out);

}  // namespace codec
}  // namespace rxib
