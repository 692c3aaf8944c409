#include "codec/units.h"

namespace rxib::codec {
namespace {

struct Rate {
  uint8_t code;
  double gbps;
};

// The codes were assigned as link speeds appeared, so neither column is sorted by the other.
constexpr Rate kRates[] = {
    {2, 2.5},  {3, 10},  {4, 30},  {5, 5},    {6, 20},   {7, 40},   {8, 60},    {9, 80},
    {10, 120}, {11, 14}, {12, 56}, {13, 112}, {14, 168}, {15, 25},  {16, 100},  {17, 200},
    {18, 300}, {19, 28}, {20, 50}, {21, 400}, {22, 600}, {23, 800}, {24, 1200}, {25, 1600},
};

}  // namespace

std::optional<uint32_t> mtuBytes(uint8_t code) {
  if (code < 1 || code > 5) return std::nullopt;
  return 128u << code;
}

std::optional<uint8_t> mtuCode(uint32_t bytes) {
  for (uint8_t code = 1; code <= 5; ++code) {
    if (128u << code == bytes) return code;
  }
  return std::nullopt;
}

std::optional<double> rateGbps(uint8_t code) {
  for (const Rate& rate : kRates) {
    if (rate.code == code) return rate.gbps;
  }
  return std::nullopt;
}

std::optional<uint8_t> rateCode(double gbps) {
  for (const Rate& rate : kRates) {
    if (rate.gbps == gbps) return rate.code;
  }
  return std::nullopt;
}

}  // namespace rxib::codec
