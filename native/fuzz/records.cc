// Every record of the codec, from any bytes: what was read, written and read again is the same.
#include <array>

#include "check.h"
#include "codec/class_port_info.h"
#include "codec/inform_info.h"
#include "codec/mc_member_record.h"
#include "codec/path_record.h"
#include "codec/service_record.h"

using namespace rxib;

namespace {

template <typename Record, size_t kSize, typename Unpack, typename Pack>
void roundTrip(const uint8_t* data, size_t size, Unpack unpack, Pack pack) {
  Record record;
  const bool read = unpack(data, size, record);
  CHECK_EQ(read, size >= kSize);
  if (!read) {
    CHECK(record == Record{});
    return;
  }
  // Exactly as long as it may be, so that a sanitizer sees a byte too many.
  std::array<uint8_t, kSize> bytes{};
  pack(record, bytes.data());
  Record again;
  CHECK(unpack(bytes.data(), bytes.size(), again));
  CHECK(again == record);
  std::array<uint8_t, kSize> twice{};
  pack(again, twice.data());
  CHECK(twice == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  roundTrip<McMemberRecord, kMcMemberRecordSize>(data, size, codec::unpackMcMemberRecord,
                                                 codec::packMcMemberRecord);
  roundTrip<PathRecord, kPathRecordSize>(data, size, codec::unpackPathRecord,
                                         codec::packPathRecord);
  roundTrip<ServiceRecord, kServiceRecordSize>(data, size, codec::unpackServiceRecord,
                                               codec::packServiceRecord);
  roundTrip<ClassPortInfo, kClassPortInfoSize>(data, size, codec::unpackClassPortInfo,
                                               codec::packClassPortInfo);
  roundTrip<InformInfo, kInformInfoSize>(data, size, codec::unpackInformInfo,
                                         codec::packInformInfo);
  roundTrip<Notice, kNoticeSize>(data, size, codec::unpackNotice, codec::packNotice);
  Notice notice;
  if (codec::unpackNotice(data, size, notice)) {
    const Gid gid = codec::noticeGid(notice);
    codec::setNoticeGid(notice, gid);
    CHECK(codec::noticeGid(notice) == gid);
  }
  return 0;
}
