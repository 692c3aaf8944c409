// The codec's functions for JavaScript: a record as numbers in a Float64Array on one side, its
// bytes on the other. src/binding/record-exchange.ts has the same layouts.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

namespace rxib::addon {

// ServiceID (two words), DGID and SGID (four words each), then the fields in the order of the
// record; MTU and rate as code and as bytes or Gb/s, which win where they are not 0.
constexpr size_t kPathSlots = 30;
// ServiceID (two words), GID (four words), P_Key, lease, 16 bytes of key, 64 of name, then the
// elements of the four data areas, those of 64 bits as two words.
constexpr size_t kServiceSlots = 120;

/**
 * `pack...(slots)` gives the bytes, `unpack...(bytes, slots)` whether there were enough of them.
 * Nothing when there is no such verb.
 */
std::optional<Napi::Value> recordCodec(const Napi::CallbackInfo& info, const std::string& verb);

}  // namespace rxib::addon
