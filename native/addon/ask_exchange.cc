#include "addon/ask_exchange.h"

#include <algorithm>

#include "addon/values.h"
#include "codec/inform_info.h"
#include "sa/subscription.h"

namespace rxib::addon {
namespace {

std::shared_ptr<const SaRequest> readSaRequest(const Napi::Object& from) {
  auto request = std::make_shared<SaRequest>();
  request->method = static_cast<codec::SaMethod>(numberOr(from, "method", 0));
  request->attribute = static_cast<uint16_t>(numberOr(from, "attribute", 0));
  bool lossless = true;
  request->mask = from.Get("mask").As<Napi::BigInt>().Uint64Value(&lossless);
  request->smKey = from.Get("smKey").As<Napi::BigInt>().Uint64Value(&lossless);
  request->recordSize = static_cast<size_t>(numberOr(from, "recordSize", 0));
  const Napi::Uint8Array data = from.Get("data").As<Napi::Uint8Array>();
  std::copy_n(data.Data(), std::min(data.ByteLength(), request->data.size()),
              request->data.begin());
  return request;
}

std::shared_ptr<const SaRequest> readOptional(const Napi::Object& from, const char* name) {
  Napi::Value value = from.Get(name);
  return value.IsObject() ? readSaRequest(value.As<Napi::Object>()) : nullptr;
}

}  // namespace

AskSpec readAsk(const Napi::Object& ask) {
  if (const double trap = numberOr(ask, "trap", 0); trap != 0) {
    return sa::subscriptionTo(static_cast<uint16_t>(trap));
  }
  AskSpec spec;
  spec.make = readSaRequest(ask.Get("make").As<Napi::Object>());
  spec.undo = readOptional(ask, "undo");
  spec.probe = readOptional(ask, "probe");
  spec.lease = milliseconds(numberOr(ask, "leaseMs", 1e300));
  return spec;
}

Napi::Value tablesOf(Napi::Env env, const std::vector<Completion>& completions) {
  const bool any = std::any_of(completions.begin(), completions.end(),
                               [](const Completion& one) { return one.table != nullptr; });
  if (!any) return env.Undefined();
  Napi::Array tables = Napi::Array::New(env, completions.size());
  for (uint32_t i = 0; i < completions.size(); ++i) {
    const RecordTable* table = completions[i].table.get();
    if (table == nullptr) continue;
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, table->bytes.size());
    std::copy(table->bytes.begin(), table->bytes.end(), bytes.Data());
    Napi::Object out = Napi::Object::New(env);
    out.Set("bytes", bytes);
    out.Set("stride", Napi::Number::New(env, static_cast<double>(table->stride)));
    out.Set("count", Napi::Number::New(env, static_cast<double>(table->count)));
    out.Set("truncated", Napi::Boolean::New(env, table->truncated));
    Notice notice;
    if (table->notice && codec::unpackNotice(table->bytes.data(), table->bytes.size(), notice)) {
      out.Set("reportedGidWords", gidWords(env, codec::noticeGid(notice)));
    }
    tables.Set(i, out);
  }
  return tables;
}

}  // namespace rxib::addon
