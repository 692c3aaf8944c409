#include "umad/smp.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib::umad {
namespace {

using codec::read16;
using codec::read32;
using codec::write16;
using codec::write32;

constexpr size_t kSmpData = 64;
constexpr uint8_t kGet = 0x01;
constexpr uint8_t kGetResp = 0x81;
constexpr uint16_t kPermissiveLid = 0xffff;
constexpr uint16_t kDirectionBit = 0x8000;

}  // namespace

void packSmpGet(SmpAttribute attribute, uint32_t modifier, uint32_t transactionId,
                codec::MadBytes& out) {
  out.fill(0);
  uint8_t* p = out.data();
  p[0] = codec::kMadBaseVersion;
  p[1] = kClassSubnDirected;
  p[2] = kSmpClassVersion;
  p[3] = kGet;
  write32(p + 12, transactionId);
  write16(p + 16, static_cast<uint16_t>(attribute));
  write32(p + 20, modifier);
  write16(p + 32, kPermissiveLid);
  write16(p + 34, kPermissiveLid);
}

bool unpackSmpReply(const uint8_t* bytes, size_t length, SmpReply& out) {
  if (length < codec::kMadSize) return false;
  if (bytes[1] != kClassSubnDirected || bytes[3] != kGetResp) return false;
  out.transactionId = read32(bytes + 12);
  out.attribute = static_cast<SmpAttribute>(read16(bytes + 16));
  out.modifier = read32(bytes + 20);
  out.status = read16(bytes + 4) & static_cast<uint16_t>(~kDirectionBit);
  out.data = bytes + kSmpData;
  return true;
}

void readPortInfo(const uint8_t* data, PortState& state) {
  std::copy(data + 8, data + 16, state.gid.bytes.begin());
  state.lid = read16(data + 16);
  state.smLid = read16(data + 18);
  const uint8_t phase = data[32] & 0xf;
  state.phase = phase <= static_cast<uint8_t>(PortPhase::kActive) ? static_cast<PortPhase>(phase)
                                                                  : PortPhase::kUnknown;
  state.smSl = data[36] & 0xf;
}

void readPkeyBlock(const uint8_t* data, size_t block, std::vector<uint16_t>& pkeys) {
  for (size_t i = 0; i < kPkeysPerBlock; ++i) {
    const size_t index = block * kPkeysPerBlock + i;
    if (index >= pkeys.size()) return;
    pkeys[index] = read16(data + 2 * i);
  }
}

}  // namespace rxib::umad
