#include "codec/inform_info.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib {

bool InformInfo::operator==(const InformInfo& o) const {
  return gid == o.gid && lidRangeBegin == o.lidRangeBegin && lidRangeEnd == o.lidRangeEnd &&
         isGeneric == o.isGeneric && subscribe == o.subscribe && type == o.type &&
         trapNumber == o.trapNumber && qpn == o.qpn && respTimeValue == o.respTimeValue &&
         producerType == o.producerType;
}

bool Notice::operator==(const Notice& o) const {
  return isGeneric == o.isGeneric && type == o.type && producerType == o.producerType &&
         trapNumber == o.trapNumber && issuerLid == o.issuerLid && toggle == o.toggle &&
         count == o.count && details == o.details && issuerGid == o.issuerGid;
}

namespace codec {
namespace {

// Within the details of traps 64 to 67.
constexpr std::ptrdiff_t kGidOffset = 6;

}  // namespace

void packInformInfo(const InformInfo& info, uint8_t* out) {
  std::fill(out, out + kInformInfoSize, uint8_t{0});
  std::copy(info.gid.bytes.begin(), info.gid.bytes.end(), out);
  write16(out + 16, info.lidRangeBegin);
  write16(out + 18, info.lidRangeEnd);
  out[22] = info.isGeneric ? 1 : 0;
  out[23] = info.subscribe ? 1 : 0;
  write16(out + 24, info.type);
  write16(out + 26, info.trapNumber);
  write32(out + 28, info.qpn << 8 | (info.respTimeValue & 0x1f));
  write32(out + 32, info.producerType & 0xffffff);
}

bool unpackInformInfo(const uint8_t* data, size_t length, InformInfo& out) {
  if (length < kInformInfoSize) return false;
  std::copy(data, data + 16, out.gid.bytes.begin());
  out.lidRangeBegin = read16(data + 16);
  out.lidRangeEnd = read16(data + 18);
  out.isGeneric = data[22] != 0;
  out.subscribe = data[23] != 0;
  out.type = read16(data + 24);
  out.trapNumber = read16(data + 26);
  out.qpn = read32(data + 28) >> 8;
  out.respTimeValue = data[31] & 0x1f;
  out.producerType = read32(data + 32) & 0xffffff;
  return true;
}

void packNotice(const Notice& notice, uint8_t* out) {
  std::fill(out, out + kNoticeSize, uint8_t{0});
  write32(out, (notice.isGeneric ? 0x80000000u : 0u) |
                   static_cast<uint32_t>(notice.type & 0x7f) << 24 |
                   (notice.producerType & 0xffffff));
  write16(out + 4, notice.trapNumber);
  write16(out + 6, notice.issuerLid);
  write16(out + 8, static_cast<uint16_t>((notice.toggle ? 0x8000 : 0) | (notice.count & 0x7fff)));
  std::copy(notice.details.begin(), notice.details.end(), out + 10);
  std::copy(notice.issuerGid.bytes.begin(), notice.issuerGid.bytes.end(), out + 64);
}

bool unpackNotice(const uint8_t* data, size_t length, Notice& out) {
  if (length < kNoticeSize) return false;
  const uint32_t head = read32(data);
  out.isGeneric = (head & 0x80000000u) != 0;
  out.type = static_cast<uint8_t>(head >> 24 & 0x7f);
  out.producerType = head & 0xffffff;
  out.trapNumber = read16(data + 4);
  out.issuerLid = read16(data + 6);
  const uint16_t counter = read16(data + 8);
  out.toggle = (counter & 0x8000) != 0;
  out.count = counter & 0x7fff;
  std::copy(data + 10, data + 64, out.details.begin());
  std::copy(data + 64, data + 80, out.issuerGid.bytes.begin());
  return true;
}

Gid noticeGid(const Notice& notice) {
  Gid gid;
  std::copy_n(notice.details.begin() + kGidOffset, gid.bytes.size(), gid.bytes.begin());
  return gid;
}

void setNoticeGid(Notice& notice, const Gid& gid) {
  std::copy(gid.bytes.begin(), gid.bytes.end(), notice.details.begin() + kGidOffset);
}

}  // namespace codec
}  // namespace rxib
