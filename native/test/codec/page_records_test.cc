// PathRecord, ServiceRecord, ClassPortInfo, InformInfo, Notice and tables of records: golden bytes
// and random round trips.
#include <algorithm>
#include <random>
#include <vector>

#include "check.h"
#include "codec/byte_order.h"
#include "codec/class_port_info.h"
#include "codec/inform_info.h"
#include "codec/path_record.h"
#include "codec/sa_table.h"
#include "codec/service_record.h"

namespace {

using namespace rxib;

class Dice {
 public:
  uint64_t below(uint64_t limit) { return limit == 0 ? engine_() : engine_() % limit; }
  template <typename T>
  T bits(unsigned count) {
    return static_cast<T>(engine_() & ((count >= 64 ? 0 : (1ull << count)) - 1));
  }
  bool coin() { return (engine_() & 1) != 0; }
  Gid gid() {
    Gid made;
    for (uint8_t& byte : made.bytes) byte = bits<uint8_t>(8);
    return made;
  }

 private:
  std::mt19937_64 engine_{20260701};
};

std::vector<uint8_t> bytesOf(const char* hex) {
  std::vector<uint8_t> bytes;
  int high = -1;
  for (const char* p = hex; *p != 0; ++p) {
    const char* digits = "0123456789abcdef";
    const char* found = std::strchr(digits, *p);
    if (found == nullptr) continue;
    const int value = static_cast<int>(found - digits);
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<uint8_t>(high << 4 | value));
      high = -1;
    }
  }
  return bytes;
}

template <size_t Size, typename Record>
std::vector<uint8_t> packed(const Record& record, void (*pack)(const Record&, uint8_t*)) {
  // A byte more, which must stay as it is.
  std::vector<uint8_t> bytes(Size + 1, 0xa5);
  pack(record, bytes.data());
  CHECK_EQ(bytes.back(), 0xa5);
  bytes.pop_back();
  return bytes;
}

template <size_t Size, typename Record>
void holdsRoundTrip(const Record& record, void (*pack)(const Record&, uint8_t*),
                    bool (*unpack)(const uint8_t*, size_t, Record&)) {
  const std::vector<uint8_t> bytes = packed<Size>(record, pack);
  Record again;
  CHECK(unpack(bytes.data(), bytes.size(), again));
  CHECK(again == record);
  const Record untouched = again;
  for (size_t length = 0; length < Size; ++length) {
    // A copy of exactly this length, so that a sanitizer sees a read beyond it.
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<long>(length));
    CHECK(!unpack(cut.data(), cut.size(), again));
  }
  CHECK(again == untouched);
}

Gid counting(uint8_t from) {
  Gid gid;
  for (size_t i = 0; i < 16; ++i) gid.bytes[i] = static_cast<uint8_t>(from + i);
  return gid;
}

TEST("codec: a PathRecord has its golden bytes") {
  PathRecord path;
  path.serviceId = 0x0102030405060708ull;
  path.dgid = counting(0x10);
  path.sgid = counting(0x20);
  path.dlid = 0x3132;
  path.slid = 0x3334;
  path.rawTraffic = true;
  path.flowLabel = 0xabcde;
  path.hopLimit = 0x40;
  path.trafficClass = 0x41;
  path.reversible = true;
  path.numbPath = 0x7e;
  path.pkey = 0xffff;
  path.qosClass = 0x123;
  path.sl = 0x9;
  path.mtuSelector = 2;
  path.mtu = 4;
  path.rateSelector = 1;
  path.rate = 3;
  path.packetLifeTimeSelector = 3;
  path.packetLifeTime = 0x12;
  path.preference = 0x55;
  const auto expected = bytesOf(
      "0102030405060708"
      "101112131415161718191a1b1c1d1e1f"
      "202122232425262728292a2b2c2d2e2f"
      "3132 3334 8abcde40 41 fe ffff 1239 84 43 d2 55 000000000000");
  CHECK_EQ(expected.size(), kPathRecordSize);
  CHECK(packed<kPathRecordSize>(path, codec::packPathRecord) == expected);
}

TEST("codec: a ServiceRecord has its golden bytes") {
  ServiceRecord service;
  service.serviceId = 0x1000000000000001ull;
  service.serviceGid = counting(0x10);
  service.pkey = 0x8001;
  service.leaseSeconds = 300;
  for (size_t i = 0; i < 16; ++i) service.key[i] = static_cast<uint8_t>(0xf0 + i);
  const char name[] = "market data";
  std::copy_n(name, sizeof name - 1, service.name.begin());
  for (size_t i = 0; i < 16; ++i) service.data8[i] = static_cast<uint8_t>(i);
  for (size_t i = 0; i < 8; ++i) service.data16[i] = static_cast<uint16_t>(0x1100 + i);
  for (size_t i = 0; i < 4; ++i) service.data32[i] = static_cast<uint32_t>(0x22222200 + i);
  service.data64 = {0x3333333333333300ull, 0x3333333333333301ull};
  auto expected = bytesOf(
      "1000000000000001"
      "101112131415161718191a1b1c1d1e1f"
      "8001 0000 0000012c"
      "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
      "6d61726b65742064617461 0000000000");
  expected.resize(112, 0);
  const auto data = bytesOf(
      "000102030405060708090a0b0c0d0e0f"
      "1100110111021103110411051106 1107"
      "22222200222222012222220222222203"
      "33333333333333003333333333333301");
  expected.insert(expected.end(), data.begin(), data.end());
  CHECK_EQ(expected.size(), kServiceRecordSize);
  CHECK(packed<kServiceRecordSize>(service, codec::packServiceRecord) == expected);
}

TEST("codec: an InformInfo and a Notice have their golden bytes") {
  InformInfo info;
  info.lidRangeBegin = 0xffff;
  info.isGeneric = true;
  info.subscribe = true;
  info.type = 0xffff;
  info.trapNumber = kTrapGroupCreated;
  info.qpn = 1;
  info.respTimeValue = 18;
  info.producerType = 4;
  CHECK(
      packed<kInformInfoSize>(info, codec::packInformInfo) ==
      bytesOf("00000000000000000000000000000000 ffff 0000 0000 01 01 ffff 0042 00000112 00000004"));

  Notice notice;
  notice.isGeneric = true;
  notice.type = 3;
  notice.producerType = 4;
  notice.trapNumber = kTrapGroupDeleted;
  notice.issuerLid = 1;
  notice.toggle = true;
  notice.count = 2;
  codec::setNoticeGid(notice, counting(0x30));
  notice.issuerGid = counting(0x10);
  auto expected = bytesOf("83000004 0043 0001 8002 000000000000 303132333435363738393a3b3c3d3e3f");
  expected.resize(64, 0);
  const auto issuer = bytesOf("101112131415161718191a1b1c1d1e1f");
  expected.insert(expected.end(), issuer.begin(), issuer.end());
  CHECK(packed<kNoticeSize>(notice, codec::packNotice) == expected);
  CHECK(codec::noticeGid(notice) == counting(0x30));
}

TEST("codec: a ClassPortInfo has its golden bytes") {
  ClassPortInfo info;
  info.baseVersion = 1;
  info.classVersion = 2;
  info.capabilityMask = 0x2602;
  info.capabilityMask2 = 0xb5e8;
  info.respTimeValue = 16;
  info.redirectQp = 1;
  info.redirectQkey = 0x80010000;
  info.trapSl = 7;
  info.trapFlowLabel = 0x12345;
  info.trapHopLimit = 9;
  info.trapQp = 2;
  info.trapQkey = 0x80010000;
  auto expected = bytesOf("01 02 2602 0016bd10");
  expected.resize(32, 0);
  const auto rest = bytesOf(
      "00000001 80010000 00000000000000000000000000000000 00712345 0000 0000 09000002 80010000");
  expected.insert(expected.end(), rest.begin(), rest.end());
  CHECK(packed<kClassPortInfoSize>(info, codec::packClassPortInfo) == expected);
}

TEST("codec: random records survive a round trip, and none is read from too few bytes") {
  Dice dice;
  for (int i = 0; i < 300; ++i) {
    PathRecord path;
    path.serviceId = dice.below(0);
    path.dgid = dice.gid();
    path.sgid = dice.gid();
    path.dlid = dice.bits<uint16_t>(16);
    path.slid = dice.bits<uint16_t>(16);
    path.rawTraffic = dice.coin();
    path.flowLabel = dice.bits<uint32_t>(20);
    path.hopLimit = dice.bits<uint8_t>(8);
    path.trafficClass = dice.bits<uint8_t>(8);
    path.reversible = dice.coin();
    path.numbPath = dice.bits<uint8_t>(7);
    path.pkey = dice.bits<uint16_t>(16);
    path.qosClass = dice.bits<uint16_t>(12);
    path.sl = dice.bits<uint8_t>(4);
    path.mtuSelector = dice.bits<uint8_t>(2);
    path.mtu = dice.bits<uint8_t>(6);
    path.rateSelector = dice.bits<uint8_t>(2);
    path.rate = dice.bits<uint8_t>(6);
    path.packetLifeTimeSelector = dice.bits<uint8_t>(2);
    path.packetLifeTime = dice.bits<uint8_t>(6);
    path.preference = dice.bits<uint8_t>(8);
    holdsRoundTrip<kPathRecordSize>(path, codec::packPathRecord, codec::unpackPathRecord);

    ServiceRecord service;
    service.serviceId = dice.below(0);
    service.serviceGid = dice.gid();
    service.pkey = dice.bits<uint16_t>(16);
    service.leaseSeconds = dice.bits<uint32_t>(32);
    for (auto& byte : service.key) byte = dice.bits<uint8_t>(8);
    for (auto& byte : service.name) byte = dice.bits<uint8_t>(8);
    for (auto& value : service.data8) value = dice.bits<uint8_t>(8);
    for (auto& value : service.data16) value = dice.bits<uint16_t>(16);
    for (auto& value : service.data32) value = dice.bits<uint32_t>(32);
    for (auto& value : service.data64) value = dice.below(0);
    holdsRoundTrip<kServiceRecordSize>(service, codec::packServiceRecord,
                                       codec::unpackServiceRecord);

    InformInfo info;
    info.gid = dice.gid();
    info.lidRangeBegin = dice.bits<uint16_t>(16);
    info.lidRangeEnd = dice.bits<uint16_t>(16);
    info.isGeneric = dice.coin();
    info.subscribe = dice.coin();
    info.type = dice.bits<uint16_t>(16);
    info.trapNumber = dice.bits<uint16_t>(16);
    info.qpn = dice.bits<uint32_t>(24);
    info.respTimeValue = dice.bits<uint8_t>(5);
    info.producerType = dice.bits<uint32_t>(24);
    holdsRoundTrip<kInformInfoSize>(info, codec::packInformInfo, codec::unpackInformInfo);

    Notice notice;
    notice.isGeneric = dice.coin();
    notice.type = dice.bits<uint8_t>(7);
    notice.producerType = dice.bits<uint32_t>(24);
    notice.trapNumber = dice.bits<uint16_t>(16);
    notice.issuerLid = dice.bits<uint16_t>(16);
    notice.toggle = dice.coin();
    notice.count = dice.bits<uint16_t>(15);
    for (auto& byte : notice.details) byte = dice.bits<uint8_t>(8);
    notice.issuerGid = dice.gid();
    holdsRoundTrip<kNoticeSize>(notice, codec::packNotice, codec::unpackNotice);

    ClassPortInfo port;
    port.baseVersion = dice.bits<uint8_t>(8);
    port.classVersion = dice.bits<uint8_t>(8);
    port.capabilityMask = dice.bits<uint16_t>(16);
    port.capabilityMask2 = dice.bits<uint32_t>(27);
    port.respTimeValue = dice.bits<uint8_t>(5);
    port.redirectGid = dice.gid();
    port.redirectTrafficClass = dice.bits<uint8_t>(8);
    port.redirectSl = dice.bits<uint8_t>(4);
    port.redirectFlowLabel = dice.bits<uint32_t>(20);
    port.redirectLid = dice.bits<uint16_t>(16);
    port.redirectPkey = dice.bits<uint16_t>(16);
    port.redirectQp = dice.bits<uint32_t>(24);
    port.redirectQkey = dice.bits<uint32_t>(32);
    port.trapGid = dice.gid();
    port.trapTrafficClass = dice.bits<uint8_t>(8);
    port.trapSl = dice.bits<uint8_t>(4);
    port.trapFlowLabel = dice.bits<uint32_t>(20);
    port.trapLid = dice.bits<uint16_t>(16);
    port.trapPkey = dice.bits<uint16_t>(16);
    port.trapHopLimit = dice.bits<uint8_t>(8);
    port.trapQp = dice.bits<uint32_t>(24);
    port.trapQkey = dice.bits<uint32_t>(32);
    holdsRoundTrip<kClassPortInfoSize>(port, codec::packClassPortInfo, codec::unpackClassPortInfo);
  }
}

struct Found {
  bool ok = false;
  codec::SaTable table;
};

Found found(codec::SaMethod method, size_t data, uint16_t offset, size_t recordSize) {
  codec::SaMad header;
  header.method = static_cast<uint8_t>(method);
  header.attributeOffset = offset;
  Found result;
  result.ok = codec::findRecords(header, codec::kSaHeaderSize + data, recordSize, result.table);
  return result;
}

TEST("codec: a table has as many records as there are bytes for, and says when one is cut off") {
  const auto table = codec::SaMethod::kGetTableResp;
  CHECK_EQ(found(table, 0, 0, 52).table.count, 0u);
  CHECK(found(table, 0, 0, 52).ok);
  CHECK(found(table, codec::kSaDataSize, 0, 52).ok);
  CHECK_EQ(found(table, 3 * 56, 7, 52).table.count, 3u);
  CHECK(!found(table, 3 * 56, 7, 52).table.truncated);
  CHECK_EQ(found(table, 200, 7, 52).table.count, 3u);
  CHECK(found(table, 200, 7, 52).table.truncated);
  CHECK_EQ(found(table, 56 * 1000, 7, 52).table.count, 1000u);
  // The padding behind the last record was left out.
  CHECK_EQ(found(table, 56 + 52, 7, 52).table.count, 2u);
  CHECK(!found(table, 56 + 52, 7, 52).table.truncated);
}

TEST("codec: what is no table of the records asked for is refused") {
  const auto table = codec::SaMethod::kGetTableResp;
  CHECK(!found(table, 200, 6, 52).ok);       // records overlap
  CHECK(!found(table, 200, 0xffff, 52).ok);  // not one whole record
  CHECK(!found(table, 51, 7, 52).ok);
  CHECK(!found(table, 112, 0, 52).ok);  // data, but no offset
  CHECK(!found(codec::SaMethod::kGetResp, 51, 7, 52).ok);
  CHECK(found(codec::SaMethod::kGetResp, 200, 0, 52).ok);
  codec::SaTable untouched;
  untouched.count = 7;
  CHECK(!codec::findRecords(codec::SaMad{}, codec::kSaHeaderSize - 1, 52, untouched));
  CHECK_EQ(untouched.count, 7u);
  codec::SaMad header;
  const std::vector<uint8_t> bytes(codec::kSaHeaderSize - 1, 0);
  CHECK(!codec::unpackSaHeader(bytes.data(), bytes.size(), header));
}

}  // namespace
