// Which of a row of places are free. One bit each: there may be a quarter of a million of them, and
// taking the lowest must not cost more for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rxib::embedded {

class FreePlaces {
 public:
  /** Places 0 to `count` - 1, all free. */
  void reset(uint32_t count) {
    words_.assign((count + kBits - 1) / kBits, ~uint64_t{0});
    if (count % kBits != 0) words_.back() = (uint64_t{1} << count % kBits) - 1;
    first_ = 0;
    size_ = count;
  }

  size_t size() const { return size_; }

  /** False when it is not free, or does not exist. */
  bool take(uint32_t place) {
    if (place / kBits >= words_.size()) return false;
    uint64_t& word = words_[place / kBits];
    const uint64_t bit = uint64_t{1} << place % kBits;
    if ((word & bit) == 0) return false;
    word &= ~bit;
    --size_;
    return true;
  }

  std::optional<uint32_t> takeLowest() {
    while (first_ < words_.size() && words_[first_] == 0) ++first_;
    if (first_ == words_.size()) return std::nullopt;
    uint32_t place = static_cast<uint32_t>(first_) * kBits;
    for (uint64_t word = words_[first_]; (word & 1) == 0; word >>= 1) ++place;
    take(place);
    return place;
  }

  void giveBack(uint32_t place) {
    words_[place / kBits] |= uint64_t{1} << place % kBits;
    if (place / kBits < first_) first_ = place / kBits;
    ++size_;
  }

 private:
  static constexpr uint32_t kBits = 64;

  std::vector<uint64_t> words_;
  size_t first_ = 0;  // no word before it has a free place
  size_t size_ = 0;
};

}  // namespace rxib::embedded
