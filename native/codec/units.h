// Wire codes of MTU and rate, and what they mean.
#pragma once

#include <cstdint>
#include <optional>

namespace rxib::codec {

/** MTU code 1..5 in bytes; nothing for a code the specification does not define. */
std::optional<uint32_t> mtuBytes(uint8_t code);
std::optional<uint8_t> mtuCode(uint32_t bytes);

/** Rate code 2..25 in Gb/s; nothing for a code the specification does not define. */
std::optional<double> rateGbps(uint8_t code);
std::optional<uint8_t> rateCode(double gbps);

}  // namespace rxib::codec
