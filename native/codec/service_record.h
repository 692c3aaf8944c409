// ServiceRecord: 176 bytes on the wire. What a service offers under a name, for as long as its
// lease.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/gid.h"

namespace rxib {

/** A lease that never runs out. */
constexpr uint32_t kIndefiniteLease = 0xffffffff;

struct ServiceRecord {
  uint64_t serviceId = 0;
  Gid serviceGid;
  uint16_t pkey = 0;
  uint32_t leaseSeconds = 0;
  std::array<uint8_t, 16> key{};
  std::array<uint8_t, 64> name{};  // UTF-8, filled up with zeros
  std::array<uint8_t, 16> data8{};
  std::array<uint16_t, 8> data16{};
  std::array<uint32_t, 4> data32{};
  std::array<uint64_t, 2> data64{};

  bool operator==(const ServiceRecord& other) const;
};

/** Bit numbers of the component mask of ServiceRecord. Bit 3 belongs to a reserved field. */
enum class ServiceComponent : uint8_t {
  kServiceId = 0,
  kServiceGid = 1,
  kPkey = 2,
  kLease = 4,
  kKey = 5,
  kName = 6,
  kData8 = 7,    // one bit for each of the 16
  kData16 = 23,  // one bit for each of the 8
  kData32 = 31,  // one bit for each of the 4
  kData64 = 35,  // one bit for each of the 2
};

constexpr uint64_t bit(ServiceComponent component, unsigned index = 0) {
  return 1ull << (static_cast<unsigned>(component) + index);
}

constexpr size_t kServiceRecordSize = 176;

namespace codec {

/** Writes exactly kServiceRecordSize bytes. */
void packServiceRecord(const ServiceRecord& record, uint8_t* out);

/** Reads kServiceRecordSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackServiceRecord(const uint8_t* data, size_t length, ServiceRecord& out);

}  // namespace codec
}  // namespace rxib
