// MCMemberRecord and its units: bytes computed by hand, both ways, and random round trips.
#include "codec/mc_member_record.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "check.h"
#include "codec/units.h"

namespace rxib::codec {
namespace {

constexpr uint8_t kGolden[] = {
    0xff, 0x12, 0xca, 0xfe, 0x00, 0x01, 0x02, 0x03,  // MGID
    0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,  //
    0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // PortGID
    0x00, 0x02, 0xc9, 0x03, 0x00, 0x45, 0x67, 0x89,  //
    0x00, 0x00, 0x0b, 0x1b,                          // Q_Key
    0xc0, 0x01,                                      // MLID
    0x84,                                            // MTU exactly (2), 2048 (4)
    0x5a,                                            // TClass
    0xff, 0xfe,                                      // P_Key
    0x50,                                            // rate less than (1), 100 Gb/s (16)
    0xd2,                                            // lifetime smallest (3), 18
    0x9a, 0xbc, 0xde, 0x40,                          // SL 9, flow label 0xabcde, hop limit 64
    0x25,                                            // scope 2, full and send-only non-member
    0x80,                                            // proxy join
    0x00, 0x00,                                      // reserved
};
static_assert(sizeof kGolden == kMcMemberRecordSize);

McMemberRecord goldenRecord() {
  McMemberRecord record;
  std::copy(kGolden, kGolden + 16, record.mgid.bytes.begin());
  std::copy(kGolden + 16, kGolden + 32, record.portGid.bytes.begin());
  record.qkey = 0xb1b;
  record.mlid = 0xc001;
  record.mtuSelector = 2;
  record.mtu = 4;
  record.trafficClass = 0x5a;
  record.pkey = 0xfffe;
  record.rateSelector = 1;
  record.rate = 16;
  record.packetLifeTimeSelector = 3;
  record.packetLifeTime = 18;
  record.sl = 9;
  record.flowLabel = 0xabcde;
  record.hopLimit = 64;
  record.scope = 2;
  record.joinState = kFullMember | kSendOnlyNonMember;
  record.proxyJoin = true;
  return record;
}

TEST("codec record: golden bytes, packed") {
  std::vector<uint8_t> bytes(kMcMemberRecordSize, 0xee);
  packMcMemberRecord(goldenRecord(), bytes.data());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == kGolden[i]) continue;
    throw test::Failure("byte " + std::to_string(i) + " is " + std::to_string(bytes[i]) +
                        ", expected " + std::to_string(kGolden[i]));
  }
}

TEST("codec record: golden bytes, unpacked") {
  McMemberRecord record;
  CHECK(unpackMcMemberRecord(kGolden, sizeof kGolden, record));
  CHECK(record == goldenRecord());
}

TEST("codec record: each field stands alone") {
  // One field at a time with all its bits, against the bytes it may touch.
  struct Place {
    void (*set)(McMemberRecord&);
    size_t offset;
    std::vector<uint8_t> bytes;
  };
  const Place places[] = {
      {[](McMemberRecord& r) { r.qkey = 0xffffffff; }, 32, {0xff, 0xff, 0xff, 0xff}},
      {[](McMemberRecord& r) { r.mlid = 0xffff; }, 36, {0xff, 0xff}},
      {[](McMemberRecord& r) { r.mtuSelector = 3; }, 38, {0xc0}},
      {[](McMemberRecord& r) { r.mtu = 0x3f; }, 38, {0x3f}},
      {[](McMemberRecord& r) { r.trafficClass = 0xff; }, 39, {0xff}},
      {[](McMemberRecord& r) { r.pkey = 0xffff; }, 40, {0xff, 0xff}},
      {[](McMemberRecord& r) { r.rateSelector = 3; }, 42, {0xc0}},
      {[](McMemberRecord& r) { r.rate = 0x3f; }, 42, {0x3f}},
      {[](McMemberRecord& r) { r.packetLifeTimeSelector = 3; }, 43, {0xc0}},
      {[](McMemberRecord& r) { r.packetLifeTime = 0x3f; }, 43, {0x3f}},
      {[](McMemberRecord& r) { r.sl = 0xf; }, 44, {0xf0}},
      {[](McMemberRecord& r) { r.flowLabel = 0xfffff; }, 44, {0x0f, 0xff, 0xff}},
      {[](McMemberRecord& r) { r.hopLimit = 0xff; }, 47, {0xff}},
      {[](McMemberRecord& r) { r.scope = 0xf; }, 48, {0xf0}},
      {[](McMemberRecord& r) { r.joinState = 0xf; }, 48, {0x0f}},
      {[](McMemberRecord& r) { r.proxyJoin = true; }, 49, {0x80}},
  };
  for (const Place& place : places) {
    McMemberRecord record;
    place.set(record);
    std::vector<uint8_t> expected(kMcMemberRecordSize, 0);
    std::copy(place.bytes.begin(), place.bytes.end(),
              expected.begin() + static_cast<long>(place.offset));
    std::vector<uint8_t> bytes(kMcMemberRecordSize);
    packMcMemberRecord(record, bytes.data());
    CHECK(bytes == expected);
    McMemberRecord again;
    CHECK(unpackMcMemberRecord(expected.data(), expected.size(), again));
    CHECK(again == record);
  }
}

TEST("codec record: a value wider than its field does not reach its neighbour") {
  McMemberRecord record;
  record.mtuSelector = record.rateSelector = record.packetLifeTimeSelector = 0xfc;
  record.mtu = record.rate = record.packetLifeTime = 0xc0;
  record.sl = record.scope = record.joinState = 0xf0;
  record.flowLabel = 0xfff00000;
  std::vector<uint8_t> bytes(kMcMemberRecordSize, 0xee);
  packMcMemberRecord(record, bytes.data());
  CHECK(bytes == std::vector<uint8_t>(kMcMemberRecordSize, 0));
}

TEST("codec record: too short is refused and leaves the output alone, longer is not read") {
  for (size_t length = 0; length < 2 * kMcMemberRecordSize; ++length) {
    std::vector<uint8_t> bytes(length, 0xa5);
    std::copy_n(kGolden, std::min(length, sizeof kGolden), bytes.begin());
    McMemberRecord record;
    CHECK_EQ(unpackMcMemberRecord(bytes.data(), bytes.size(), record),
             length >= kMcMemberRecordSize);
    CHECK(record == (length >= kMcMemberRecordSize ? goldenRecord() : McMemberRecord{}));
  }
}

TEST("codec record: random bytes come back, apart from what is reserved") {
  std::mt19937_64 random(20260701);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> bytes(kMcMemberRecordSize);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    McMemberRecord record;
    CHECK(unpackMcMemberRecord(bytes.data(), bytes.size(), record));
    std::vector<uint8_t> again(kMcMemberRecordSize);
    packMcMemberRecord(record, again.data());
    bytes[49] &= 0x80;
    bytes[50] = bytes[51] = 0;
    CHECK(again == bytes);
  }
}

TEST("codec record: the component mask's bits") {
  CHECK_EQ(bit(McComponent::kMgid), 1ull << 0);
  CHECK_EQ(bit(McComponent::kPortGid), 1ull << 1);
  CHECK_EQ(bit(McComponent::kQkey), 1ull << 2);
  CHECK_EQ(bit(McComponent::kMlid), 1ull << 3);
  CHECK_EQ(bit(McComponent::kMtuSelector), 1ull << 4);
  CHECK_EQ(bit(McComponent::kMtu), 1ull << 5);
  CHECK_EQ(bit(McComponent::kTrafficClass), 1ull << 6);
  CHECK_EQ(bit(McComponent::kPkey), 1ull << 7);
  CHECK_EQ(bit(McComponent::kRateSelector), 1ull << 8);
  CHECK_EQ(bit(McComponent::kRate), 1ull << 9);
  CHECK_EQ(bit(McComponent::kPacketLifeTimeSelector), 1ull << 10);
  CHECK_EQ(bit(McComponent::kPacketLifeTime), 1ull << 11);
  CHECK_EQ(bit(McComponent::kSl), 1ull << 12);
  CHECK_EQ(bit(McComponent::kFlowLabel), 1ull << 13);
  CHECK_EQ(bit(McComponent::kHopLimit), 1ull << 14);
  CHECK_EQ(bit(McComponent::kScope), 1ull << 15);
  CHECK_EQ(bit(McComponent::kJoinState), 1ull << 16);
  CHECK_EQ(bit(McComponent::kProxyJoin), 1ull << 17);
  // MGID, PortGID, Q_Key, TClass, P_Key, SL, flow label, join state.
  CHECK_EQ(kMcCreationComponents, 0x130c7ull);
}

TEST("codec units: MTU codes") {
  const uint32_t sizes[] = {256, 512, 1024, 2048, 4096};
  for (uint8_t code = 1; code <= 5; ++code) {
    CHECK_EQ(*mtuBytes(code), sizes[code - 1]);
    CHECK_EQ(*mtuCode(sizes[code - 1]), code);
  }
  for (unsigned code = 0; code < 256; ++code) {
    CHECK_EQ(mtuBytes(static_cast<uint8_t>(code)).has_value(), code >= 1 && code <= 5);
  }
  for (const uint32_t bytes : {0u, 1u, 128u, 255u, 1500u, 8192u, 0x80000000u, 0xffffffffu}) {
    CHECK(!mtuCode(bytes).has_value());
  }
}

TEST("codec units: rate codes") {
  const double rates[] = {2.5, 10, 30,  5,   20,  40, 60, 80,  120, 14,  56,   112,
                          168, 25, 100, 200, 300, 28, 50, 400, 600, 800, 1200, 1600};
  static_assert(std::size(rates) == 24);
  std::set<double> seen;
  for (uint8_t code = 2; code <= 25; ++code) {
    CHECK_EQ(*rateGbps(code), rates[code - 2]);
    CHECK_EQ(*rateCode(rates[code - 2]), code);
    seen.insert(*rateGbps(code));
  }
  CHECK_EQ(seen.size(), std::size(rates));
  for (unsigned code = 0; code < 256; ++code) {
    CHECK_EQ(rateGbps(static_cast<uint8_t>(code)).has_value(), code >= 2 && code <= 25);
  }
  for (const double gbps : {0.0, -10.0, 2.4, 10.5, 3200.0}) CHECK(!rateCode(gbps).has_value());
}

}  // namespace
}  // namespace rxib::codec
