#include "addon/record_codec.h"

#include <algorithm>

#include "addon/exchange.h"
#include "addon/values.h"
#include "codec/byte_order.h"
#include "codec/mad.h"
#include "codec/path_record.h"
#include "codec/service_record.h"
#include "codec/units.h"

namespace rxib::addon {
namespace {

template <typename T>
T number(double slot) {
  return static_cast<T>(slot);
}

uint64_t read64(const double* slots) {
  return static_cast<uint64_t>(number<uint32_t>(slots[0])) << 32 | number<uint32_t>(slots[1]);
}

void write64(uint64_t value, double* slots) {
  slots[0] = static_cast<double>(value >> 32);
  slots[1] = static_cast<double>(value & 0xffffffff);
}

Gid readGid(const double* slots) {
  Gid gid;
  for (size_t i = 0; i < 4; ++i) {
    codec::write32(gid.bytes.data() + 4 * i, number<uint32_t>(slots[i]));
  }
  return gid;
}

void writeGid(const Gid& gid, double* slots) {
  for (size_t i = 0; i < 4; ++i) slots[i] = codec::read32(gid.bytes.data() + 4 * i);
}

PathRecord readPath(const double* slots) {
  PathRecord path;
  path.serviceId = read64(slots);
  path.dgid = readGid(slots + 2);
  path.sgid = readGid(slots + 6);
  path.dlid = number<uint16_t>(slots[10]);
  path.slid = number<uint16_t>(slots[11]);
  path.rawTraffic = slots[12] != 0;
  path.flowLabel = number<uint32_t>(slots[13]);
  path.hopLimit = number<uint8_t>(slots[14]);
  path.trafficClass = number<uint8_t>(slots[15]);
  path.reversible = slots[16] != 0;
  path.numbPath = number<uint8_t>(slots[17]);
  path.pkey = number<uint16_t>(slots[18]);
  path.qosClass = number<uint16_t>(slots[19]);
  path.sl = number<uint8_t>(slots[20]);
  path.mtuSelector = number<uint8_t>(slots[21]);
  path.mtu = codec::mtuCode(number<uint32_t>(slots[23])).value_or(number<uint8_t>(slots[22]));
  path.rateSelector = number<uint8_t>(slots[24]);
  path.rate = codec::rateCode(slots[26]).value_or(number<uint8_t>(slots[25]));
  path.packetLifeTimeSelector = number<uint8_t>(slots[27]);
  path.packetLifeTime = number<uint8_t>(slots[28]);
  path.preference = number<uint8_t>(slots[29]);
  return path;
}

void writePath(const PathRecord& path, double* slots) {
  write64(path.serviceId, slots);
  writeGid(path.dgid, slots + 2);
  writeGid(path.sgid, slots + 6);
  slots[10] = path.dlid;
  slots[11] = path.slid;
  slots[12] = path.rawTraffic ? 1 : 0;
  slots[13] = path.flowLabel;
  slots[14] = path.hopLimit;
  slots[15] = path.trafficClass;
  slots[16] = path.reversible ? 1 : 0;
  slots[17] = path.numbPath;
  slots[18] = path.pkey;
  slots[19] = path.qosClass;
  slots[20] = path.sl;
  slots[21] = path.mtuSelector;
  slots[22] = path.mtu;
  slots[23] = codec::mtuBytes(path.mtu).value_or(0);
  slots[24] = path.rateSelector;
  slots[25] = path.rate;
  slots[26] = codec::rateGbps(path.rate).value_or(0);
  slots[27] = path.packetLifeTimeSelector;
  slots[28] = path.packetLifeTime;
  slots[29] = path.preference;
}

template <typename Values>
void readValues(Values& values, const double* slots) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = number<typename Values::value_type>(slots[i]);
  }
}

template <typename Values>
void writeValues(const Values& values, double* slots) {
  for (size_t i = 0; i < values.size(); ++i) slots[i] = values[i];
}

ServiceRecord readService(const double* slots) {
  ServiceRecord service;
  service.serviceId = read64(slots);
  service.serviceGid = readGid(slots + 2);
  service.pkey = number<uint16_t>(slots[6]);
  service.leaseSeconds = number<uint32_t>(slots[7]);
  readValues(service.key, slots + 8);
  readValues(service.name, slots + 24);
  readValues(service.data8, slots + 88);
  readValues(service.data16, slots + 104);
  readValues(service.data32, slots + 112);
  for (size_t i = 0; i < 2; ++i) service.data64[i] = read64(slots + 116 + 2 * i);
  return service;
}

void writeService(const ServiceRecord& service, double* slots) {
  write64(service.serviceId, slots);
  writeGid(service.serviceGid, slots + 2);
  slots[6] = service.pkey;
  slots[7] = service.leaseSeconds;
  writeValues(service.key, slots + 8);
  writeValues(service.name, slots + 24);
  writeValues(service.data8, slots + 88);
  writeValues(service.data16, slots + 104);
  writeValues(service.data32, slots + 112);
  for (size_t i = 0; i < 2; ++i) write64(service.data64[i], slots + 116 + 2 * i);
}

}  // namespace

BytesFrom::BytesFrom(const Napi::Value& array, const Napi::Value& at) {
  const Napi::Uint8Array bytes = array.As<Napi::Uint8Array>();
  const size_t offset = std::min(bytes.ByteLength(), size_t{at.As<Napi::Number>().Uint32Value()});
  data = bytes.Data() + offset;
  size = bytes.ByteLength() - offset;
}

void packRecord(uint16_t attribute, const double* slots, uint8_t* bytes) {
  switch (static_cast<codec::SaAttribute>(attribute)) {
    case codec::SaAttribute::kPathRecord:
      codec::packPathRecord(readPath(slots), bytes);
      break;
    case codec::SaAttribute::kServiceRecord:
      codec::packServiceRecord(readService(slots), bytes);
      break;
    default:
      codec::packMcMemberRecord(readRecord(slots), bytes);
      break;
  }
}

std::optional<Napi::Value> recordCodec(const Napi::CallbackInfo& info, const std::string& verb) {
  Napi::Env env = info.Env();
  if (verb == "packPathRecord") {
    const PathRecord path = readPath(slotsOf(info, 1, kPathSlots));
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, kPathRecordSize);
    codec::packPathRecord(path, bytes.Data());
    return bytes;
  }
  if (verb == "unpackPathRecord") {
    const BytesFrom bytes(info[1], info[3]);
    PathRecord path;
    const bool enough = codec::unpackPathRecord(bytes.data, bytes.size, path);
    if (enough) writePath(path, slotsOf(info, 2, kPathSlots));
    return Napi::Boolean::New(env, enough);
  }
  if (verb == "packServiceRecord") {
    const ServiceRecord service = readService(slotsOf(info, 1, kServiceSlots));
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, kServiceRecordSize);
    codec::packServiceRecord(service, bytes.Data());
    return bytes;
  }
  if (verb == "unpackServiceRecord") {
    const BytesFrom bytes(info[1], info[3]);
    ServiceRecord service;
    const bool enough = codec::unpackServiceRecord(bytes.data, bytes.size, service);
    if (enough) writeService(service, slotsOf(info, 2, kServiceSlots));
    return Napi::Boolean::New(env, enough);
  }
  return std::nullopt;
}

}  // namespace rxib::addon
