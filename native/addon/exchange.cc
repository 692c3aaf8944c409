#include "addon/exchange.h"

#include "codec/byte_order.h"
#include "codec/inform_info.h"
#include "codec/units.h"

namespace rxib::addon {
namespace {

void writeGid(const Gid& gid, double* slots) {
  for (size_t i = 0; i < 4; ++i) slots[i] = codec::read32(gid.bytes.data() + 4 * i);
}

Gid readGid(const double* slots) {
  Gid gid;
  for (size_t i = 0; i < 4; ++i) {
    codec::write32(gid.bytes.data() + 4 * i, static_cast<uint32_t>(slots[i]));
  }
  return gid;
}

template <typename T>
T number(double slot) {
  return static_cast<T>(slot);
}

}  // namespace

void writeRecord(const McMemberRecord& record, double* slots) {
  writeGid(record.mgid, slots);
  writeGid(record.portGid, slots + 4);
  slots[8] = record.qkey;
  slots[9] = record.mlid;
  slots[10] = record.mtuSelector;
  slots[11] = record.mtu;
  slots[12] = codec::mtuBytes(record.mtu).value_or(0);
  slots[13] = record.trafficClass;
  slots[14] = record.pkey;
  slots[15] = record.rateSelector;
  slots[16] = record.rate;
  slots[17] = codec::rateGbps(record.rate).value_or(0);
  slots[18] = record.packetLifeTimeSelector;
  slots[19] = record.packetLifeTime;
  slots[20] = record.sl;
  slots[21] = record.flowLabel;
  slots[22] = record.hopLimit;
  slots[23] = record.scope;
  slots[24] = record.joinState;
  slots[25] = record.proxyJoin ? 1 : 0;
}

/** Slots 12 and 17, bytes and Gb/s, win over the codes where they are not 0. */
McMemberRecord readRecord(const double* slots) {
  McMemberRecord record;
  record.mgid = readGid(slots);
  record.portGid = readGid(slots + 4);
  record.qkey = number<uint32_t>(slots[8]);
  record.mlid = number<uint16_t>(slots[9]);
  record.mtuSelector = number<uint8_t>(slots[10]);
  record.mtu = codec::mtuCode(number<uint32_t>(slots[12])).value_or(number<uint8_t>(slots[11]));
  record.trafficClass = number<uint8_t>(slots[13]);
  record.pkey = number<uint16_t>(slots[14]);
  record.rateSelector = number<uint8_t>(slots[15]);
  record.rate = codec::rateCode(slots[17]).value_or(number<uint8_t>(slots[16]));
  record.packetLifeTimeSelector = number<uint8_t>(slots[18]);
  record.packetLifeTime = number<uint8_t>(slots[19]);
  record.sl = number<uint8_t>(slots[20]);
  record.flowLabel = number<uint32_t>(slots[21]);
  record.hopLimit = number<uint8_t>(slots[22]);
  record.scope = number<uint8_t>(slots[23]);
  record.joinState = number<uint8_t>(slots[24]);
  record.proxyJoin = slots[25] != 0;
  return record;
}

void writeCompletion(const Completion& completion, size_t tableAt, double* slots) {
  slots[0] = static_cast<double>(completion.handle);
  slots[1] = completion.status;
  slots[2] = completion.saStatus ? *completion.saStatus : -1;
  slots[3] = static_cast<double>(completion.fields);
  slots[4] = static_cast<double>(completion.reason);
  slots[5] = completion.record ? 1 : 0;
  slots[6] = completion.cause ? 1 : 0;
  slots[7] = completion.cause.value_or(0);
  const AddressHandle handle = completion.addressHandle.value_or(AddressHandle{});
  slots[8] = completion.addressHandle ? 1 : 0;
  slots[9] = handle.port;
  slots[10] = handle.sgidIndex;
  slots[11] = codec::rateGbps(handle.staticRate).value_or(0);
  const RecordTable* table = completion.table.get();
  Notice notice;
  const bool report = table != nullptr && table->notice &&
                      codec::unpackNotice(table->bytes.data(), table->bytes.size(), notice);
  slots[12] = table == nullptr ? 0 : report ? 2 : 1;
  if (table != nullptr) {
    slots[13] = static_cast<double>(tableAt);
    slots[14] = static_cast<double>(table->stride);
    slots[15] = static_cast<double>(table->count);
    slots[16] = table->truncated ? 1 : 0;
  }
  if (report) writeGid(codec::noticeGid(notice), slots + kCompletionHead);
  if (completion.record) writeRecord(*completion.record, slots + kCompletionHead);
}

JoinSpec readRequest(const double* slots) {
  JoinSpec spec;
  spec.mask = static_cast<uint64_t>(slots[0]);
  spec.record = readRecord(slots + 1);
  spec.group = readGid(slots + 1 + kRecordSlots);
  return spec;
}

}  // namespace rxib::addon
