// JavaScript values of the shapes that several functions of the addon take or give.
#pragma once

#include <napi.h>

#include <cmath>
#include <string>

#include "codec/byte_order.h"
#include "codec/gid.h"
#include "core/clock.h"
#include "core/port.h"

namespace rxib::addon {

inline Napi::Array gidWords(Napi::Env env, const Gid& gid) {
  Napi::Array words = Napi::Array::New(env, 4);
  for (uint32_t i = 0; i < 4; ++i) {
    words.Set(i, Napi::Number::New(env, codec::read32(gid.bytes.data() + 4 * i)));
  }
  return words;
}

/** Milliseconds, fractions allowed, as a duration; Infinity is "never". */
inline Duration milliseconds(double ms) {
  if (!(ms < 9e12)) return Duration::max();
  return Duration{static_cast<Duration::rep>(std::llround(ms * 1000))};
}

inline double numberOr(const Napi::Object& options, const char* name, double fallback) {
  Napi::Value value = options.Get(name);
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : fallback;
}

inline std::string textOr(const Napi::Object& options, const char* name) {
  Napi::Value value = options.Get(name);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

/** The numbers of a Float64Array of just so many; throws a RangeError for anything else. */
double* slotsOf(const Napi::CallbackInfo& info, size_t argument, size_t count);

Napi::Object portInfo(Napi::Env env, const std::string& device, uint8_t port,
                      const PortState& state);

}  // namespace rxib::addon
