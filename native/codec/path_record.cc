#include "codec/path_record.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib {

bool PathRecord::operator==(const PathRecord& o) const {
  return serviceId == o.serviceId && dgid == o.dgid && sgid == o.sgid && dlid == o.dlid &&
         slid == o.slid && rawTraffic == o.rawTraffic && flowLabel == o.flowLabel &&
         hopLimit == o.hopLimit && trafficClass == o.trafficClass && reversible == o.reversible &&
         numbPath == o.numbPath && pkey == o.pkey && qosClass == o.qosClass && sl == o.sl &&
         mtuSelector == o.mtuSelector && mtu == o.mtu && rateSelector == o.rateSelector &&
         rate == o.rate && packetLifeTimeSelector == o.packetLifeTimeSelector &&
         packetLifeTime == o.packetLifeTime && preference == o.preference;
}

namespace codec {
namespace {

uint8_t withSelector(uint8_t selector, uint8_t value) {
  return static_cast<uint8_t>((selector & 0x3) << 6 | (value & 0x3f));
}

}  // namespace

void packPathRecord(const PathRecord& record, uint8_t* out) {
  std::fill(out, out + kPathRecordSize, uint8_t{0});
  write64(out, record.serviceId);
  std::copy(record.dgid.bytes.begin(), record.dgid.bytes.end(), out + 8);
  std::copy(record.sgid.bytes.begin(), record.sgid.bytes.end(), out + 24);
  write16(out + 40, record.dlid);
  write16(out + 42, record.slid);
  write32(out + 44, (record.rawTraffic ? 0x80000000u : 0u) | (record.flowLabel & 0xfffff) << 8 |
                        record.hopLimit);
  out[48] = record.trafficClass;
  out[49] = static_cast<uint8_t>((record.reversible ? 0x80 : 0) | (record.numbPath & 0x7f));
  write16(out + 50, record.pkey);
  write16(out + 52, static_cast<uint16_t>((record.qosClass & 0xfff) << 4 | (record.sl & 0xf)));
  out[54] = withSelector(record.mtuSelector, record.mtu);
  out[55] = withSelector(record.rateSelector, record.rate);
  out[56] = withSelector(record.packetLifeTimeSelector, record.packetLifeTime);
  out[57] = record.preference;
}

bool unpackPathRecord(const uint8_t* data, size_t length, PathRecord& out) {
  if (length < kPathRecordSize) return false;
  out.serviceId = read64(data);
  std::copy(data + 8, data + 24, out.dgid.bytes.begin());
  std::copy(data + 24, data + 40, out.sgid.bytes.begin());
  out.dlid = read16(data + 40);
  out.slid = read16(data + 42);
  const uint32_t route = read32(data + 44);
  out.rawTraffic = (route & 0x80000000u) != 0;
  out.flowLabel = route >> 8 & 0xfffff;
  out.hopLimit = static_cast<uint8_t>(route);
  out.trafficClass = data[48];
  out.reversible = (data[49] & 0x80) != 0;
  out.numbPath = data[49] & 0x7f;
  out.pkey = read16(data + 50);
  const uint16_t service = read16(data + 52);
  out.qosClass = static_cast<uint16_t>(service >> 4);
  out.sl = service & 0xf;
  out.mtuSelector = data[54] >> 6;
  out.mtu = data[54] & 0x3f;
  out.rateSelector = data[55] >> 6;
  out.rate = data[55] & 0x3f;
  out.packetLifeTimeSelector = data[56] >> 6;
  out.packetLifeTime = data[56] & 0x3f;
  out.preference = data[57];
  return true;
}

}  // namespace codec
}  // namespace rxib
