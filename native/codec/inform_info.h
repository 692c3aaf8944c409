// InformInfo, 36 bytes: a subscription to what happens on the fabric; and Notice, 80 bytes: what
// has happened, as the subnet administrator reports it to subscribers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/gid.h"

namespace rxib {

/** Trap numbers of multicast groups. */
constexpr uint16_t kTrapGroupCreated = 66;
constexpr uint16_t kTrapGroupDeleted = 67;

struct InformInfo {
  Gid gid;
  uint16_t lidRangeBegin = 0;  // 0xffff: every LID
  uint16_t lidRangeEnd = 0;
  bool isGeneric = false;
  bool subscribe = false;
  uint16_t type = 0;          // 0xffff: every type
  uint16_t trapNumber = 0;    // 0xffff: every trap
  uint32_t qpn = 0;           // 24 bits
  uint8_t respTimeValue = 0;  // 5 bits
  uint32_t producerType = 0;  // 24 bits; 4: class manager, 0xffffff: everybody

  bool operator==(const InformInfo& other) const;
};

constexpr size_t kInformInfoSize = 36;

struct Notice {
  bool isGeneric = false;
  uint8_t type = 0;           // 7 bits
  uint32_t producerType = 0;  // 24 bits
  uint16_t trapNumber = 0;
  uint16_t issuerLid = 0;
  bool toggle = false;
  uint16_t count = 0;  // 15 bits
  std::array<uint8_t, 54> details{};
  Gid issuerGid;

  bool operator==(const Notice& other) const;
};

constexpr size_t kNoticeSize = 80;

namespace codec {

/** Writes exactly kInformInfoSize bytes; values wider than their field lose the excess bits. */
void packInformInfo(const InformInfo& info, uint8_t* out);
/** Reads kInformInfoSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackInformInfo(const uint8_t* data, size_t length, InformInfo& out);

/** Writes exactly kNoticeSize bytes; values wider than their field lose the excess bits. */
void packNotice(const Notice& notice, uint8_t* out);
/** Reads kNoticeSize bytes; false, and `out` untouched, when `length` is smaller. */
bool unpackNotice(const uint8_t* data, size_t length, Notice& out);

/** The GID that traps 64 to 67 are about; for 66 and 67 it is the group's. */
Gid noticeGid(const Notice& notice);
void setNoticeGid(Notice& notice, const Gid& gid);

}  // namespace codec
}  // namespace rxib
