#include "embedded/record_rules.h"

#include "embedded/rate_order.h"

namespace rxib::embedded {
namespace {

constexpr uint8_t kSmallestMtu = 1;
constexpr uint8_t kLargestMtu = 5;
constexpr uint16_t kPartitionBits = 0x7fff;
constexpr uint16_t kFullMembership = 0x8000;

bool has(uint64_t mask, McComponent component) { return (mask & bit(component)) != 0; }

bool isKnownMtu(uint8_t code) { return code >= kSmallestMtu && code <= kLargestMtu; }

/** `order` is negative, 0 or positive as the group's value is below, at or above the asked one. */
bool accepts(uint8_t selector, int order) {
  switch (static_cast<Selector>(selector)) {
    case Selector::kGreaterThan:
      return order > 0;
    case Selector::kLessThan:
      return order < 0;
    case Selector::kExactly:
      return order == 0;
    case Selector::kLargest:
      return true;
  }
  return true;
}

}  // namespace

bool hasAll(uint64_t mask, uint64_t needed) { return (mask & needed) == needed; }

bool samePartition(uint16_t a, uint16_t b) { return (a & kPartitionBits) == (b & kPartitionBits); }

bool isPartition(uint16_t pkey) { return (pkey & kPartitionBits) != 0; }

bool canTalk(uint16_t a, uint16_t b) {
  return samePartition(a, b) && ((a | b) & kFullMembership) != 0;
}

bool tableHolds(const std::vector<uint16_t>& table, uint16_t pkey) {
  if (!isPartition(pkey)) return false;
  for (uint16_t entry : table) {
    if (samePartition(entry, pkey)) return true;
  }
  return false;
}

bool tablesShareAKey(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  for (uint16_t entry : a) {
    if (tableHolds(b, entry)) return true;
  }
  return false;
}

bool hasKnownUnits(const McMemberRecord& wanted, uint64_t mask) {
  if (has(mask, McComponent::kMtu) && has(mask, McComponent::kMtuSelector) &&
      !isKnownMtu(wanted.mtu)) {
    return false;
  }
  return !has(mask, McComponent::kRate) || !has(mask, McComponent::kRateSelector) ||
         isKnownRate(wanted.rate);
}

bool sameFixedFields(const McMemberRecord& wanted, uint64_t mask, const McMemberRecord& group) {
  if (has(mask, McComponent::kQkey) && wanted.qkey != group.qkey) return false;
  if (has(mask, McComponent::kPkey) && !canTalk(wanted.pkey, group.pkey)) return false;
  if (has(mask, McComponent::kTrafficClass) && wanted.trafficClass != group.trafficClass) {
    return false;
  }
  if (has(mask, McComponent::kSl) && wanted.sl != group.sl) return false;
  if (has(mask, McComponent::kFlowLabel) && wanted.flowLabel != group.flowLabel) return false;
  return !has(mask, McComponent::kHopLimit) || wanted.hopLimit == group.hopLimit;
}

bool selectorsAccept(const McMemberRecord& wanted, uint64_t mask, const McMemberRecord& group) {
  if (has(mask, McComponent::kMtuSelector) &&
      !accepts(wanted.mtuSelector, int{group.mtu} - int{wanted.mtu})) {
    return false;
  }
  return !has(mask, McComponent::kRateSelector) ||
         accepts(wanted.rateSelector, compareRates(group.rate, wanted.rate));
}

bool chooseMtu(McMemberRecord& record, uint64_t mask, uint8_t portMtu) {
  const bool asked = has(mask, McComponent::kMtu) && has(mask, McComponent::kMtuSelector);
  const Selector selector = asked ? static_cast<Selector>(record.mtuSelector) : Selector::kLargest;
  switch (selector) {
    case Selector::kGreaterThan:
      if (record.mtu >= portMtu) return false;
      record.mtu = portMtu;
      break;
    case Selector::kLessThan:
      record.mtu = record.mtu > portMtu ? portMtu : static_cast<uint8_t>(record.mtu - 1);
      break;
    case Selector::kExactly:
      break;
    case Selector::kLargest:
      record.mtu = portMtu;
      break;
  }
  record.mtuSelector = static_cast<uint8_t>(Selector::kExactly);
  return isKnownMtu(record.mtu);
}

bool chooseRate(McMemberRecord& record, uint64_t mask, uint8_t portRate) {
  const bool asked = has(mask, McComponent::kRate) && has(mask, McComponent::kRateSelector);
  const Selector selector = asked ? static_cast<Selector>(record.rateSelector) : Selector::kLargest;
  switch (selector) {
    case Selector::kGreaterThan:
      if (compareRates(record.rate, portRate) >= 0) return false;
      record.rate = portRate;
      break;
    case Selector::kLessThan:
      record.rate =
          compareRates(record.rate, portRate) > 0 ? portRate : nextSlowerRate(record.rate);
      break;
    case Selector::kExactly:
      break;
    case Selector::kLargest:
      record.rate = portRate;
      break;
  }
  record.rateSelector = static_cast<uint8_t>(Selector::kExactly);
  return isKnownRate(record.rate);
}

}  // namespace rxib::embedded
