#include "embedded/path_rules.h"

#include <algorithm>

#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "embedded/rate_order.h"
#include "embedded/record_rules.h"

namespace rxib::embedded {
namespace {

constexpr uint8_t kLargestMtu = 5;
// Between two ports; from a port to itself nothing takes any time.
constexpr uint8_t kUsualLifeTime = 18;

bool has(uint64_t mask, PathComponent component) { return (mask & bit(component)) != 0; }

bool hasBoth(uint64_t mask, PathComponent selector, PathComponent value) {
  return has(mask, selector) && has(mask, value);
}

/**
 * The value to tell of a path that can do `best`, where a smaller one will do as well, under a
 * selector; nothing when it can't be had. `below` is the next smaller value of the asked one.
 */
template <typename Compare>
std::optional<uint8_t> chosen(uint8_t selector, uint8_t best, uint8_t asked, uint8_t below,
                              bool nothingBelow, bool exactMayBeSmaller, Compare compare) {
  switch (static_cast<Selector>(selector)) {
    case Selector::kGreaterThan:
      if (compare(best, asked) <= 0) return std::nullopt;
      return best;
    case Selector::kLessThan:
      if (compare(best, asked) < 0) return best;
      if (nothingBelow) return std::nullopt;
      return below;
    case Selector::kExactly:
      if (exactMayBeSmaller ? compare(best, asked) < 0 : compare(best, asked) != 0) {
        return std::nullopt;
      }
      return asked;
    case Selector::kLargest:
      break;
  }
  return best;
}

int compareNumbers(uint8_t a, uint8_t b) { return int{a} - int{b}; }

const KnownPort* byGid(const std::vector<KnownPort>& ports, const Gid& gid) {
  for (const KnownPort& port : ports) {
    if (port.present && port.gid == gid) return &port;
  }
  return nullptr;
}

/** The ports that one end of the path may be, as the request names it or leaves it open. */
std::vector<const KnownPort*> ends(const std::vector<KnownPort>& ports, bool byGidAsked,
                                   const Gid& gid, bool byLidAsked, uint16_t lid) {
  std::vector<const KnownPort*> found;
  for (const KnownPort& port : ports) {
    if (!port.present) continue;
    if (byGidAsked && port.gid != gid) continue;
    if (byLidAsked && port.lid != lid) continue;
    found.push_back(&port);
  }
  // OpenSM keeps its ports by GUID, and compares these with their last byte first.
  std::sort(found.begin(), found.end(), [](const KnownPort* a, const KnownPort* b) {
    return std::lexicographical_compare(a->gid.bytes.rbegin(), a->gid.bytes.rbegin() + 8,
                                        b->gid.bytes.rbegin(), b->gid.bytes.rbegin() + 8);
  });
  return found;
}

/** The P_Key of a path: the one asked for, or the first that both ends can talk with; 0: none. */
uint16_t commonPkey(const PathRecord& wanted, uint64_t mask, const KnownPort& from,
                    const KnownPort& to) {
  if (has(mask, PathComponent::kPkey)) {
    const bool shared = tableHolds(from.pkeys, wanted.pkey) && tableHolds(to.pkeys, wanted.pkey);
    return shared ? wanted.pkey : uint16_t{0};
  }
  for (uint16_t own : from.pkeys) {
    for (uint16_t other : to.pkeys) {
      if ((own & 0x7fff) != 0 && canTalk(own, other)) return own;
    }
  }
  return 0;
}

std::optional<PathRecord> pathBetween(const KnownPort& from, const KnownPort& to,
                                      const PathRecord& wanted, uint64_t mask) {
  PathRecord path;
  path.sgid = from.gid;
  path.dgid = to.gid;
  path.slid = from.lid;
  path.dlid = to.lid;
  path.reversible = true;
  path.pkey = commonPkey(wanted, mask, from, to);
  if (path.pkey == 0) return std::nullopt;
  // A raw packet has none, which OpenSM says so.
  if (has(mask, PathComponent::kRawTraffic) && wanted.rawTraffic) path.pkey = 0;
  path.sl = has(mask, PathComponent::kSl) ? wanted.sl : uint8_t{0};
  path.mtuSelector = path.rateSelector = path.packetLifeTimeSelector =
      static_cast<uint8_t>(Selector::kExactly);

  path.mtu = std::min(from.mtu, to.mtu);
  if (hasBoth(mask, PathComponent::kMtuSelector, PathComponent::kMtu)) {
    const auto below = static_cast<uint8_t>(wanted.mtu - 1);
    const auto mtu =
        chosen(wanted.mtuSelector, path.mtu, wanted.mtu, below, below == 0, true, compareNumbers);
    if (!mtu) return std::nullopt;
    path.mtu = *mtu;
  }
  path.rate = compareRates(from.rate, to.rate) < 0 ? from.rate : to.rate;
  if (hasBoth(mask, PathComponent::kRateSelector, PathComponent::kRate)) {
    const uint8_t below = nextSlowerRate(wanted.rate);
    const auto rate =
        chosen(wanted.rateSelector, path.rate, wanted.rate, below, below == 0, false, compareRates);
    if (!rate) return std::nullopt;
    path.rate = *rate;
  }
  path.packetLifeTime = &from == &to ? uint8_t{0} : kUsualLifeTime;
  if (hasBoth(mask, PathComponent::kPacketLifeTimeSelector, PathComponent::kPacketLifeTime)) {
    const auto below = static_cast<uint8_t>(wanted.packetLifeTime - 1);
    const auto lifeTime =
        chosen(wanted.packetLifeTimeSelector, path.packetLifeTime, wanted.packetLifeTime, below,
               wanted.packetLifeTime == 0, true, compareNumbers);
    if (!lifeTime) return std::nullopt;
    path.packetLifeTime = *lifeTime;
  }
  return path;
}

}  // namespace

uint16_t pathRequestStatus(const PathRecord& wanted, uint64_t mask,
                           const std::vector<KnownPort>& ports) {
  if (hasBoth(mask, PathComponent::kMtuSelector, PathComponent::kMtu) &&
      (wanted.mtu == 0 || wanted.mtu > kLargestMtu)) {
    return codec::kSaReqInvalid;
  }
  if (hasBoth(mask, PathComponent::kRateSelector, PathComponent::kRate) &&
      !isKnownRate(wanted.rate)) {
    return codec::kSaReqInvalid;
  }
  // A GID with the LID of another port is a mistake; either by itself is only not found.
  auto contradicts = [&](PathComponent gidBit, const Gid& gid, PathComponent lidBit, uint16_t lid) {
    if (!has(mask, gidBit) || !has(mask, lidBit)) return false;
    const KnownPort* port = byGid(ports, gid);
    if (port == nullptr || port->lid == lid) return false;
    return std::any_of(ports.begin(), ports.end(),
                       [lid](const KnownPort& other) { return other.present && other.lid == lid; });
  };
  if (contradicts(PathComponent::kSgid, wanted.sgid, PathComponent::kSlid, wanted.slid) ||
      contradicts(PathComponent::kDgid, wanted.dgid, PathComponent::kDlid, wanted.dlid)) {
    return codec::kSaReqInvalid;
  }
  return codec::kSaOk;
}

std::vector<PathRecord> findPaths(const PathRecord& wanted, uint64_t mask,
                                  const std::vector<KnownPort>& ports) {
  const auto sources = ends(ports, has(mask, PathComponent::kSgid), wanted.sgid,
                            has(mask, PathComponent::kSlid), wanted.slid);
  const auto destinations = ends(ports, has(mask, PathComponent::kDgid), wanted.dgid,
                                 has(mask, PathComponent::kDlid), wanted.dlid);
  std::vector<PathRecord> paths;
  for (const KnownPort* to : destinations) {
    for (const KnownPort* from : sources) {
      if (auto path = pathBetween(*from, *to, wanted, mask)) paths.push_back(std::move(*path));
    }
  }
  return paths;
}

}  // namespace rxib::embedded
