// Directed-route SMPs to the own port (no hops), with which it is looked at where no events come.
// 256 bytes: the MAD header, M_Key, the two LIDs of the route (both permissive), 64 bytes of data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/mad.h"
#include "core/port.h"

namespace rxib::umad {

constexpr uint8_t kClassSubnDirected = 0x81;
constexpr uint8_t kSmpClassVersion = 1;
constexpr int kPkeysPerBlock = 32;

enum class SmpAttribute : uint16_t { kPortInfo = 0x15, kPkeyTable = 0x16 };

/** A Get of one attribute of the own node. */
void packSmpGet(SmpAttribute attribute, uint32_t modifier, uint32_t transactionId,
                codec::MadBytes& out);

/** What of an answer counts. */
struct SmpReply {
  uint32_t transactionId = 0;
  SmpAttribute attribute{};
  uint32_t modifier = 0;
  uint16_t status = 0;
  const uint8_t* data = nullptr;  // 64 bytes inside the MAD
};

/** False unless it is a GetResp of this class and of full length. */
bool unpackSmpReply(const uint8_t* bytes, size_t length, SmpReply& out);

/** Phase, LIDs, SM SL, and the prefix of the GID; the rest of `state` stays. */
void readPortInfo(const uint8_t* data, PortState& state);

/** One block of kPkeysPerBlock keys, into `pkeys` as far as that reaches. */
void readPkeyBlock(const uint8_t* data, size_t block, std::vector<uint16_t>& pkeys);

}  // namespace rxib::umad
