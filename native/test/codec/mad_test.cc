// The SA MAD: bytes computed by hand, both ways, and random round trips.
#include "codec/mad.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check.h"

namespace rxib::codec {
namespace {

/** Every field at its place with a value of its own; what is reserved stays zero. */
MadBytes goldenBytes() {
  MadBytes bytes{};
  const uint8_t head[] = {
      0x01, 0x03, 0x02, 0x95,                          // base version, class, version, method
      0x06, 0x00, 0x00, 0x00,                          // status, class specific
      0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,  // transaction id
      0x00, 0x38, 0x00, 0x00,                          // attribute id, reserved
      0xca, 0xfe, 0xba, 0xbe,                          // attribute modifier
      0x01, 0x02, 0x07, 0x75,                          // RMPP version, type, flags, status
      0x10, 0x11, 0x12, 0x13,                          // RMPP data 1
      0x20, 0x21, 0x22, 0x23,                          // RMPP data 2
      0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87,  // SM_Key
      0x00, 0x07, 0x00, 0x00,                          // attribute offset, reserved
      0x80, 0x00, 0x00, 0x00, 0x00, 0x03, 0xff, 0xfe,  // component mask
  };
  static_assert(sizeof head == kSaHeaderSize);
  std::copy(std::begin(head), std::end(head), bytes.begin());
  for (size_t i = kSaHeaderSize; i < kMadSize; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
  return bytes;
}

SaMad goldenMad() {
  SaMad mad;
  mad.method = 0x95;
  mad.status = kSaInsufficientComponents;
  mad.transactionId = 0x0123456789abcdef;
  mad.attributeId = 0x38;
  mad.attributeModifier = 0xcafebabe;
  mad.rmppVersion = 1;
  mad.rmppType = 2;
  mad.rmppFlags = 7;
  mad.rmppStatus = 0x75;
  mad.rmppData1 = 0x10111213;
  mad.rmppData2 = 0x20212223;
  mad.smKey = 0xf0e1d2c3b4a59687;
  mad.attributeOffset = 7;
  mad.componentMask = 0x800000000003fffe;
  for (size_t i = 0; i < kSaDataSize; ++i) {
    mad.data[i] = static_cast<uint8_t>((i + kSaHeaderSize) * 7 + 1);
  }
  return mad;
}

void checkSame(const SaMad& a, const SaMad& b) {
  CHECK_EQ(a.baseVersion, b.baseVersion);
  CHECK_EQ(a.managementClass, b.managementClass);
  CHECK_EQ(a.classVersion, b.classVersion);
  CHECK_EQ(a.method, b.method);
  CHECK_EQ(a.status, b.status);
  CHECK_EQ(a.transactionId, b.transactionId);
  CHECK_EQ(a.attributeId, b.attributeId);
  CHECK_EQ(a.attributeModifier, b.attributeModifier);
  CHECK_EQ(a.rmppVersion, b.rmppVersion);
  CHECK_EQ(a.rmppType, b.rmppType);
  CHECK_EQ(a.rmppFlags, b.rmppFlags);
  CHECK_EQ(a.rmppStatus, b.rmppStatus);
  CHECK_EQ(a.rmppData1, b.rmppData1);
  CHECK_EQ(a.rmppData2, b.rmppData2);
  CHECK_EQ(a.smKey, b.smKey);
  CHECK_EQ(a.attributeOffset, b.attributeOffset);
  CHECK_EQ(a.componentMask, b.componentMask);
  CHECK(a.data == b.data);
}

TEST("codec mad: golden bytes, packed") {
  MadBytes bytes;
  bytes.fill(0xee);
  packSaMad(goldenMad(), bytes);
  const MadBytes expected = goldenBytes();
  for (size_t i = 0; i < kMadSize; ++i) {
    if (bytes[i] == expected[i]) continue;
    throw test::Failure("byte " + std::to_string(i) + " is " + std::to_string(bytes[i]) +
                        ", expected " + std::to_string(expected[i]));
  }
}

TEST("codec mad: golden bytes, unpacked") {
  const MadBytes bytes = goldenBytes();
  SaMad mad;
  CHECK(unpackSaMad(bytes.data(), bytes.size(), mad));
  checkSame(mad, goldenMad());
}

TEST("codec mad: the defaults are those of a request to the SA") {
  MadBytes bytes;
  packSaMad(SaMad{}, bytes);
  CHECK_EQ(bytes[0], 1);
  CHECK_EQ(bytes[1], 3);
  CHECK_EQ(bytes[2], 2);
  CHECK(std::all_of(bytes.begin() + 3, bytes.end(), [](uint8_t byte) { return byte == 0; }));
}

TEST("codec mad: reserved bits of a peer are not ours to judge") {
  MadBytes bytes = goldenBytes();
  bytes[6] = bytes[7] = bytes[18] = bytes[19] = bytes[46] = bytes[47] = 0xff;
  bytes[26] = 0xff;  // R_Resp_Time stands above the flags
  SaMad mad;
  CHECK(unpackSaMad(bytes.data(), bytes.size(), mad));
  checkSame(mad, goldenMad());
}

TEST("codec mad: any other length is refused and leaves the output alone") {
  std::vector<uint8_t> bytes(512, 0xa5);
  for (size_t length = 0; length <= 512; ++length) {
    // Exactly as long as it says, so that a sanitizer sees every read behind its end.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<long>(length));
    SaMad mad = goldenMad();
    const bool taken = unpackSaMad(exact.data(), exact.size(), mad);
    CHECK_EQ(taken, length == kMadSize);
    if (!taken) checkSame(mad, goldenMad());
  }
}

TEST("codec mad: the transaction id of a bare header") {
  const MadBytes bytes = goldenBytes();
  for (size_t length = 0; length <= kMadSize; ++length) {
    const std::vector<uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<long>(length));
    uint64_t transactionId = 42;
    CHECK_EQ(readTransactionId(exact.data(), exact.size(), transactionId),
             length >= kMadHeaderSize);
    CHECK_EQ(transactionId, length >= kMadHeaderSize ? 0x0123456789abcdefull : 42ull);
  }
}

TEST("codec mad: random bytes come back, apart from what is reserved") {
  std::mt19937_64 random(20260701);
  for (int round = 0; round < 2000; ++round) {
    MadBytes bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    SaMad mad;
    CHECK(unpackSaMad(bytes.data(), bytes.size(), mad));
    MadBytes again;
    packSaMad(mad, again);
    for (const size_t reserved : {6, 7, 18, 19, 46, 47}) bytes[reserved] = 0;
    bytes[26] &= 0x07;
    CHECK(again == bytes);
  }
}

TEST("codec mad: the SA's statuses by name") {
  CHECK_EQ(std::string(saStatusName(0x0000)), "OK");
  CHECK_EQ(std::string(saStatusName(0x0001)), "BUSY");
  CHECK_EQ(std::string(saStatusName(0x0002)), "REDIRECT");
  CHECK_EQ(std::string(saStatusName(0x0100)), "NO_RESOURCES");
  CHECK_EQ(std::string(saStatusName(0x0200)), "REQ_INVALID");
  CHECK_EQ(std::string(saStatusName(0x0300)), "NO_RECORDS");
  CHECK_EQ(std::string(saStatusName(0x0400)), "TOO_MANY_RECORDS");
  CHECK_EQ(std::string(saStatusName(0x0500)), "REQ_INVALID_GID");
  CHECK_EQ(std::string(saStatusName(0x0600)), "INSUFFICIENT_COMPONENTS");
  CHECK_EQ(std::string(saStatusName(0x0700)), "REQ_DENIED");
  CHECK_EQ(std::string(saStatusName(0x0800)), "PRIORITY_SUGGESTED");
  CHECK_EQ(std::string(saStatusName(0x4242)), "UNKNOWN");
}

}  // namespace
}  // namespace rxib::codec
