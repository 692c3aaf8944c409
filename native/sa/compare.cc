#include "sa/compare.h"

#include "codec/units.h"

namespace rxib::sa {
namespace {

template <typename T>
bool satisfies(T have, T wanted, uint8_t selector) {
  switch (static_cast<Selector>(selector)) {
    case Selector::kGreaterThan:
      return have > wanted;
    case Selector::kLessThan:
      return have < wanted;
    case Selector::kExactly:
      return have == wanted;
    // "The largest available" is whatever the group was created with.
    case Selector::kLargest:
      return true;
  }
  return true;
}

/** Codes of different speeds are not in the order of the speeds; unknown codes compare as codes. */
bool rateSatisfies(uint8_t have, uint8_t wanted, uint8_t selector) {
  auto haveGbps = codec::rateGbps(have);
  auto wantedGbps = codec::rateGbps(wanted);
  if (haveGbps && wantedGbps) return satisfies(*haveGbps, *wantedGbps, selector);
  return satisfies(have, wanted, selector);
}

bool samePartition(uint16_t a, uint16_t b) { return (a & 0x7fff) == (b & 0x7fff); }

}  // namespace

uint64_t differingComponents(const McMemberRecord& group, const McMemberRecord& wanted,
                             uint64_t mask) {
  uint64_t differing = 0;
  auto asked = [mask](McComponent component) { return (mask & bit(component)) != 0; };
  auto check = [&](McComponent component, bool satisfied) {
    if (asked(component) && !satisfied) differing |= bit(component);
  };
  check(McComponent::kQkey, group.qkey == wanted.qkey);
  check(McComponent::kMlid, group.mlid == wanted.mlid);
  check(McComponent::kTrafficClass, group.trafficClass == wanted.trafficClass);
  check(McComponent::kPkey, samePartition(group.pkey, wanted.pkey));
  check(McComponent::kSl, group.sl == wanted.sl);
  check(McComponent::kFlowLabel, group.flowLabel == wanted.flowLabel);
  check(McComponent::kHopLimit, group.hopLimit == wanted.hopLimit);
  check(McComponent::kScope, group.scope == wanted.scope);
  // The SA looks at the selector alone; a value without one is ignored.
  auto checkSelected = [&](McComponent selector, McComponent value, bool satisfied) {
    if (asked(selector)) check(asked(value) ? value : selector, satisfied);
  };
  checkSelected(McComponent::kMtuSelector, McComponent::kMtu,
                satisfies(group.mtu, wanted.mtu, wanted.mtuSelector));
  checkSelected(McComponent::kRateSelector, McComponent::kRate,
                rateSatisfies(group.rate, wanted.rate, wanted.rateSelector));
  checkSelected(
      McComponent::kPacketLifeTimeSelector, McComponent::kPacketLifeTime,
      satisfies(group.packetLifeTime, wanted.packetLifeTime, wanted.packetLifeTimeSelector));
  return differing;
}

}  // namespace rxib::sa
