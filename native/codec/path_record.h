// PathRecord: 64 bytes on the wire. Fields keep their wire codes, as in MCMemberRecord.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/gid.h"

namespace rxib {

struct PathRecord {
  uint64_t serviceId = 0;
  Gid dgid;
  Gid sgid;
  uint16_t dlid = 0;
  uint16_t slid = 0;
  bool rawTraffic = false;
  uint32_t flowLabel = 0;  // 20 bits
  uint8_t hopLimit = 0;
  uint8_t trafficClass = 0;
  bool reversible = false;
  uint8_t numbPath = 0;  // 7 bits
  uint16_t pkey = 0;
  uint16_t qosClass = 0;               // 12 bits
  uint8_t sl = 0;                      // 4 bits
  uint8_t mtuSelector = 0;             // 2 bits
  uint8_t mtu = 0;                     // 6 bits, code
  uint8_t rateSelector = 0;            // 2 bits
  uint8_t rate = 0;                    // 6 bits, code
  uint8_t packetLifeTimeSelector = 0;  // 2 bits
  uint8_t packetLifeTime = 0;          // 6 bits, 4.096 us * 2^n
  uint8_t preference = 0;

  bool operator==(const PathRecord& other) const;
};

/** Bit numbers of the component mask of PathRecord. Bit 7 belongs to a reserved field. */
enum class PathComponent : uint8_t {
  kServiceIdHigh = 0,  // the 8 high bits of the ServiceID
  kServiceIdLow = 1,   // the other 56
  kDgid = 2,
  kSgid,
  kDlid,
  kSlid,
  kRawTraffic,
  kFlowLabel = 8,
  kHopLimit,
  kTrafficClass,
  kReversible,
  kNumbPath,
  kPkey,
  kQosClass,
  kSl,
  kMtuSelector,
  kMtu,
  kRateSelector,
  kRate,
  kPacketLifeTimeSelector,
  kPacketLifeTime,
  kPreference,
};

constexpr uint64_t bit(PathComponent component) { return 1ull << static_cast<uint8_t>(component); }

constexpr size_t kPathRecordSize = 64;

namespace codec {

/** Writes exactly kPathRecordSize bytes; values wider than their field lose the excess bits. */
void packPathRecord(const PathRecord& record, uint8_t* out);

/** Reads kPathRecordSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackPathRecord(const uint8_t* data, size_t length, PathRecord& out);

}  // namespace codec
}  // namespace rxib
