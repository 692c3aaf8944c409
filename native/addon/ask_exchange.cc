#include "addon/ask_exchange.h"

#include <algorithm>

namespace rxib::addon {
namespace {

std::shared_ptr<const SaRequest> readSaRequest(const double* slots) {
  if (slots[0] == 0) return nullptr;
  auto request = std::make_shared<SaRequest>();
  request->method = static_cast<codec::SaMethod>(slots[0]);
  request->attribute = static_cast<uint16_t>(slots[1]);
  request->smKey = static_cast<uint64_t>(slots[2]) << 32 | static_cast<uint64_t>(slots[3]);
  request->recordSize = static_cast<size_t>(slots[4]);
  request->mask = static_cast<uint64_t>(slots[5]);
  packRecord(request->attribute, slots + kSaRequestHead, request->data.data());
  return request;
}

}  // namespace

AskSpec readAsk(const double* slots, Duration lease) {
  AskSpec spec;
  spec.make = readSaRequest(slots);
  spec.undo = readSaRequest(slots + kSaRequestSlots);
  spec.probe = readSaRequest(slots + 2 * kSaRequestSlots);
  spec.lease = lease;
  return spec;
}

Napi::Value tableBytes(Napi::Env env, const std::vector<Completion>& completions) {
  size_t size = 0;
  bool any = false;
  for (const Completion& one : completions) {
    if (one.table == nullptr) continue;
    any = true;
    size += one.table->bytes.size();
  }
  if (!any) return env.Undefined();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(env, size);
  uint8_t* to = bytes.Data();
  for (const Completion& one : completions) {
    if (one.table != nullptr) to = std::copy(one.table->bytes.begin(), one.table->bytes.end(), to);
  }
  return bytes;
}

}  // namespace rxib::addon
