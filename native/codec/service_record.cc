#include "codec/service_record.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib {

bool ServiceRecord::operator==(const ServiceRecord& o) const {
  return serviceId == o.serviceId && serviceGid == o.serviceGid && pkey == o.pkey &&
         leaseSeconds == o.leaseSeconds && key == o.key && name == o.name && data8 == o.data8 &&
         data16 == o.data16 && data32 == o.data32 && data64 == o.data64;
}

namespace codec {

void packServiceRecord(const ServiceRecord& record, uint8_t* out) {
  std::fill(out, out + kServiceRecordSize, uint8_t{0});
  write64(out, record.serviceId);
  std::copy(record.serviceGid.bytes.begin(), record.serviceGid.bytes.end(), out + 8);
  write16(out + 24, record.pkey);
  write32(out + 28, record.leaseSeconds);
  std::copy(record.key.begin(), record.key.end(), out + 32);
  std::copy(record.name.begin(), record.name.end(), out + 48);
  std::copy(record.data8.begin(), record.data8.end(), out + 112);
  for (size_t i = 0; i < record.data16.size(); ++i) write16(out + 128 + 2 * i, record.data16[i]);
  for (size_t i = 0; i < record.data32.size(); ++i) write32(out + 144 + 4 * i, record.data32[i]);
  for (size_t i = 0; i < record.data64.size(); ++i) write64(out + 160 + 8 * i, record.data64[i]);
}

bool unpackServiceRecord(const uint8_t* data, size_t length, ServiceRecord& out) {
  if (length < kServiceRecordSize) return false;
  out.serviceId = read64(data);
  std::copy(data + 8, data + 24, out.serviceGid.bytes.begin());
  out.pkey = read16(data + 24);
  out.leaseSeconds = read32(data + 28);
  std::copy(data + 32, data + 48, out.key.begin());
  std::copy(data + 48, data + 112, out.name.begin());
  std::copy(data + 112, data + 128, out.data8.begin());
  for (size_t i = 0; i < out.data16.size(); ++i) out.data16[i] = read16(data + 128 + 2 * i);
  for (size_t i = 0; i < out.data32.size(); ++i) out.data32[i] = read32(data + 144 + 4 * i);
  for (size_t i = 0; i < out.data64.size(); ++i) out.data64[i] = read64(data + 160 + 8 * i);
  return true;
}

}  // namespace codec
}  // namespace rxib
