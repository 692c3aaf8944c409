#include "codec/mc_member_record.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib {

bool McMemberRecord::operator==(const McMemberRecord& o) const {
  return mgid == o.mgid && portGid == o.portGid && qkey == o.qkey && mlid == o.mlid &&
         mtuSelector == o.mtuSelector && mtu == o.mtu && trafficClass == o.trafficClass &&
         pkey == o.pkey && rateSelector == o.rateSelector && rate == o.rate &&
         packetLifeTimeSelector == o.packetLifeTimeSelector && packetLifeTime == o.packetLifeTime &&
         sl == o.sl && flowLabel == o.flowLabel && hopLimit == o.hopLimit && scope == o.scope &&
         joinState == o.joinState && proxyJoin == o.proxyJoin;
}

namespace codec {
namespace {

uint8_t withSelector(uint8_t selector, uint8_t value) {
  return static_cast<uint8_t>((selector & 0x3) << 6 | (value & 0x3f));
}

}  // namespace

void packMcMemberRecord(const McMemberRecord& record, uint8_t* out) {
  std::fill(out, out + kMcMemberRecordSize, uint8_t{0});
  std::copy(record.mgid.bytes.begin(), record.mgid.bytes.end(), out);
  std::copy(record.portGid.bytes.begin(), record.portGid.bytes.end(), out + 16);
  write32(out + 32, record.qkey);
  write16(out + 36, record.mlid);
  out[38] = withSelector(record.mtuSelector, record.mtu);
  out[39] = record.trafficClass;
  write16(out + 40, record.pkey);
  out[42] = withSelector(record.rateSelector, record.rate);
  out[43] = withSelector(record.packetLifeTimeSelector, record.packetLifeTime);
  write32(out + 44, static_cast<uint32_t>(record.sl & 0xf) << 28 |
                        (record.flowLabel & 0xfffff) << 8 | record.hopLimit);
  out[48] = static_cast<uint8_t>((record.scope & 0xf) << 4 | (record.joinState & 0xf));
  out[49] = record.proxyJoin ? 0x80 : 0;
}

bool unpackMcMemberRecord(const uint8_t* data, size_t length, McMemberRecord& out) {
  if (length < kMcMemberRecordSize) return false;
  std::copy(data, data + 16, out.mgid.bytes.begin());
  std::copy(data + 16, data + 32, out.portGid.bytes.begin());
  out.qkey = read32(data + 32);
  out.mlid = read16(data + 36);
  out.mtuSelector = data[38] >> 6;
  out.mtu = data[38] & 0x3f;
  out.trafficClass = data[39];
  out.pkey = read16(data + 40);
  out.rateSelector = data[42] >> 6;
  out.rate = data[42] & 0x3f;
  out.packetLifeTimeSelector = data[43] >> 6;
  out.packetLifeTime = data[43] & 0x3f;
  uint32_t route = read32(data + 44);
  out.sl = static_cast<uint8_t>(route >> 28);
  out.flowLabel = route >> 8 & 0xfffff;
  out.hopLimit = static_cast<uint8_t>(route);
  out.scope = data[48] >> 4;
  out.joinState = data[48] & 0xf;
  out.proxyJoin = (data[49] & 0x80) != 0;
  return true;
}

}  // namespace codec
}  // namespace rxib
