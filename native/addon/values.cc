#include "addon/values.h"

namespace rxib::addon {
namespace {

const char* phaseName(PortPhase phase) {
  switch (phase) {
    case PortPhase::kDown:
      return "down";
    case PortPhase::kInitialize:
      return "initialize";
    case PortPhase::kArmed:
      return "armed";
    case PortPhase::kActive:
      return "active";
    case PortPhase::kUnknown:
      break;
  }
  return "unknown";
}

const char* linkLayerName(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::kInfiniBand:
      return "infiniband";
    case LinkLayer::kEthernet:
      return "ethernet";
    case LinkLayer::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

double* slotsOf(const Napi::CallbackInfo& info, size_t argument, size_t count) {
  const Napi::Value value = info[argument];
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float64_array) {
    Napi::Float64Array slots = value.As<Napi::Float64Array>();
    if (slots.ElementLength() == count) return slots.Data();
  }
  throw Napi::RangeError::New(info.Env(), "the addon and the package are of different versions");
}

Napi::Object portInfo(Napi::Env env, const std::string& device, uint8_t port,
                      const PortState& state) {
  Napi::Object info = Napi::Object::New(env);
  info.Set("device", device);
  info.Set("port", Napi::Number::New(env, port));
  info.Set("state", phaseName(state.phase));
  info.Set("linkLayer", linkLayerName(state.linkLayer));
  info.Set("lid", Napi::Number::New(env, state.lid));
  info.Set("smLid", Napi::Number::New(env, state.smLid));
  info.Set("smSl", Napi::Number::New(env, state.smSl));
  info.Set("gidWords", gidWords(env, state.gid));
  Napi::Array pkeys = Napi::Array::New(env);
  uint32_t count = 0;
  for (uint16_t pkey : state.pkeys) {
    if (pkey != 0) pkeys.Set(count++, Napi::Number::New(env, pkey));
  }
  info.Set("pkeys", pkeys);
  return info;
}

}  // namespace rxib::addon
