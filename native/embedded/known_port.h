// What the subnet manager knows of a port.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/gid.h"

namespace rxib::embedded {

struct KnownPort {
  Gid gid;
  std::vector<uint16_t> pkeys;
  uint8_t mtu = 0;   // code
  uint8_t rate = 0;  // code
  bool present = true;
  uint16_t lid = 0;
};

}  // namespace rxib::embedded
