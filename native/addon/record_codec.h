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
 * `pack...(slots)` gives the bytes, `unpack...(bytes, slots, at)` whether there were enough of them
 * from `at` on.
 * Nothing when there is no such verb.
 */
std::optional<Napi::Value> recordCodec(const Napi::CallbackInfo& info, const std::string& verb);

/** Packs the record of that attribute that stands in `slots`; an MCMemberRecord as exchange.h has
 * it. */
void packRecord(uint16_t attribute, const double* slots, uint8_t* bytes);

/** The bytes of a Uint8Array from a number on that JavaScript gives. */
struct BytesFrom {
  BytesFrom(const Napi::Value& array, const Napi::Value& at);
  const uint8_t* data = nullptr;
  size_t size = 0;
};

}  // namespace rxib::addon
