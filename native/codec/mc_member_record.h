// MCMemberRecord: 52 bytes on the wire, and the component mask that says which of them count.
// Fields keep their wire codes (MTU 1..5, rate 2..25); units.h turns codes into bytes and Gb/s.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/gid.h"

namespace rxib {

/** JoinState bits, and the same bits in every counter of this project. */
enum JoinState : uint8_t {
  kFullMember = 1,
  kNonMember = 2,
  kSendOnlyNonMember = 4,
  kSendOnlyFullMember = 8,
};

/** Selectors stand in the two high bits beside MTU, rate and packet lifetime. */
enum class Selector : uint8_t { kGreaterThan = 0, kLessThan = 1, kExactly = 2, kLargest = 3 };

struct McMemberRecord {
  Gid mgid;
  Gid portGid;
  uint32_t qkey = 0;
  uint16_t mlid = 0;
  uint8_t mtuSelector = 0;  // 2 bits
  uint8_t mtu = 0;          // 6 bits, code
  uint8_t trafficClass = 0;
  uint16_t pkey = 0;
  uint8_t rateSelector = 0;            // 2 bits
  uint8_t rate = 0;                    // 6 bits, code
  uint8_t packetLifeTimeSelector = 0;  // 2 bits
  uint8_t packetLifeTime = 0;          // 6 bits, 4.096 us * 2^n
  uint8_t sl = 0;                      // 4 bits
  uint32_t flowLabel = 0;              // 20 bits
  uint8_t hopLimit = 0;
  uint8_t scope = 0;      // 4 bits
  uint8_t joinState = 0;  // 4 bits
  bool proxyJoin = false;

  bool operator==(const McMemberRecord& other) const;
};

/** Bit numbers of the component mask of MCMemberRecord. */
enum class McComponent : uint8_t {
  kMgid = 0,
  kPortGid,
  kQkey,
  kMlid,
  kMtuSelector,
  kMtu,
  kTrafficClass,
  kPkey,
  kRateSelector,
  kRate,
  kPacketLifeTimeSelector,
  kPacketLifeTime,
  kSl,
  kFlowLabel,
  kHopLimit,
  kScope,
  kJoinState,
  kProxyJoin,
};

constexpr uint64_t bit(McComponent component) { return 1ull << static_cast<uint8_t>(component); }

/** What a Set must carry in its mask to be able to create a group. */
constexpr uint64_t kMcCreationComponents =
    bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kQkey) |
    bit(McComponent::kTrafficClass) | bit(McComponent::kPkey) | bit(McComponent::kSl) |
    bit(McComponent::kFlowLabel) | bit(McComponent::kJoinState);

constexpr size_t kMcMemberRecordSize = 52;

namespace codec {

/** Writes exactly kMcMemberRecordSize bytes; values wider than their field lose the excess bits. */
void packMcMemberRecord(const McMemberRecord& record, uint8_t* out);

/** Reads kMcMemberRecordSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackMcMemberRecord(const uint8_t* data, size_t length, McMemberRecord& out);

}  // namespace codec
}  // namespace rxib
