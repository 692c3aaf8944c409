// The input of a fuzzer, read as a script: decisions from the front until nothing is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rxib::fuzz {

class ScriptBytes {
 public:
  ScriptBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  /** 0 at the end. */
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  /** 0 to `limit` - 1. */
  size_t below(size_t limit) { return limit == 0 ? 0 : byte() % limit; }
  bool coin() { return (byte() & 1) != 0; }
  uint16_t word() {
    const uint8_t high = byte();
    return static_cast<uint16_t>(high << 8 | byte());
  }
  /** At most `length` bytes. */
  std::vector<uint8_t> bytes(size_t length) {
    length = std::min(length, size_);
    std::vector<uint8_t> out(data_, data_ + length);
    data_ += length;
    size_ -= length;
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace rxib::fuzz
