#include "codec/class_port_info.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib {

bool ClassPortInfo::operator==(const ClassPortInfo& o) const {
  return baseVersion == o.baseVersion && classVersion == o.classVersion &&
         capabilityMask == o.capabilityMask && capabilityMask2 == o.capabilityMask2 &&
         respTimeValue == o.respTimeValue && redirectGid == o.redirectGid &&
         redirectTrafficClass == o.redirectTrafficClass && redirectSl == o.redirectSl &&
         redirectFlowLabel == o.redirectFlowLabel && redirectLid == o.redirectLid &&
         redirectPkey == o.redirectPkey && redirectQp == o.redirectQp &&
         redirectQkey == o.redirectQkey && trapGid == o.trapGid &&
         trapTrafficClass == o.trapTrafficClass && trapSl == o.trapSl &&
         trapFlowLabel == o.trapFlowLabel && trapLid == o.trapLid && trapPkey == o.trapPkey &&
         trapHopLimit == o.trapHopLimit && trapQp == o.trapQp && trapQkey == o.trapQkey;
}

namespace codec {
namespace {

uint32_t route(uint8_t trafficClass, uint8_t sl, uint32_t flowLabel) {
  return static_cast<uint32_t>(trafficClass) << 24 | static_cast<uint32_t>(sl & 0xf) << 20 |
         (flowLabel & 0xfffff);
}

}  // namespace

void packClassPortInfo(const ClassPortInfo& info, uint8_t* out) {
  std::fill(out, out + kClassPortInfoSize, uint8_t{0});
  out[0] = info.baseVersion;
  out[1] = info.classVersion;
  write16(out + 2, info.capabilityMask);
  write32(out + 4, info.capabilityMask2 << 5 | (info.respTimeValue & 0x1f));
  std::copy(info.redirectGid.bytes.begin(), info.redirectGid.bytes.end(), out + 8);
  write32(out + 24, route(info.redirectTrafficClass, info.redirectSl, info.redirectFlowLabel));
  write16(out + 28, info.redirectLid);
  write16(out + 30, info.redirectPkey);
  write32(out + 32, info.redirectQp & 0xffffff);
  write32(out + 36, info.redirectQkey);
  std::copy(info.trapGid.bytes.begin(), info.trapGid.bytes.end(), out + 40);
  write32(out + 56, route(info.trapTrafficClass, info.trapSl, info.trapFlowLabel));
  write16(out + 60, info.trapLid);
  write16(out + 62, info.trapPkey);
  write32(out + 64, static_cast<uint32_t>(info.trapHopLimit) << 24 | (info.trapQp & 0xffffff));
  write32(out + 68, info.trapQkey);
}

bool unpackClassPortInfo(const uint8_t* data, size_t length, ClassPortInfo& out) {
  if (length < kClassPortInfoSize) return false;
  out.baseVersion = data[0];
  out.classVersion = data[1];
  out.capabilityMask = read16(data + 2);
  out.capabilityMask2 = read32(data + 4) >> 5;
  out.respTimeValue = data[7] & 0x1f;
  std::copy(data + 8, data + 24, out.redirectGid.bytes.begin());
  out.redirectTrafficClass = data[24];
  out.redirectSl = data[25] >> 4;
  out.redirectFlowLabel = read32(data + 24) & 0xfffff;
  out.redirectLid = read16(data + 28);
  out.redirectPkey = read16(data + 30);
  out.redirectQp = read32(data + 32) & 0xffffff;
  out.redirectQkey = read32(data + 36);
  std::copy(data + 40, data + 56, out.trapGid.bytes.begin());
  out.trapTrafficClass = data[56];
  out.trapSl = data[57] >> 4;
  out.trapFlowLabel = read32(data + 56) & 0xfffff;
  out.trapLid = read16(data + 60);
  out.trapPkey = read16(data + 62);
  out.trapHopLimit = data[64];
  out.trapQp = read32(data + 64) & 0xffffff;
  out.trapQkey = read32(data + 68);
  return true;
}

}  // namespace codec
}  // namespace rxib
