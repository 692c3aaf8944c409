#include "embedded/subnet_administrator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "codec/byte_order.h"
#include "codec/path_record.h"
#include "codec/sa_table.h"
#include "codec/service_record.h"
#include "embedded/mgid_rules.h"
#include "embedded/path_rules.h"
#include "embedded/rate_order.h"
#include "embedded/record_rules.h"

namespace rxib::embedded {
namespace {

using codec::SaAttribute;
using codec::SaMad;
using codec::SaMethod;

constexpr uint8_t kResponseBit = 0x80;
constexpr uint8_t kGetMulti = 0x14;
constexpr uint64_t kTrustedKey = 1;  // OpenSM's default SA key
constexpr uint16_t kFirstMlid = 0xc000;
constexpr uint64_t kMembershipComponents =
    bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kJoinState);
// Either kind of full member lets a group live.
constexpr uint8_t kFullBits = kFullMember | kSendOnlyFullMember;
/** A record travels padded to whole units of 8 bytes. */
constexpr size_t padded(size_t recordSize) { return (recordSize + 7) / 8 * 8; }

// Wildcards of InformInfo, and where its subscribe byte stands.
constexpr uint16_t kEveryLid = 0xffff;
constexpr uint16_t kEveryTrap = 0xffff;
constexpr uint32_t kEveryProducer = 0xffffff;
constexpr uint32_t kClassManager = 4;
constexpr size_t kInformSubscribe = 23;

// The group of the default partition, as OpenSM makes it.
constexpr uint16_t kDefaultPkey = 0xffff;
constexpr uint32_t kBroadcastQkey = 0xb1b;
constexpr uint8_t kBroadcastMtu = 4;
constexpr uint8_t kBroadcastRate = 3;
constexpr uint8_t kBroadcastLifeTime = 18;

/** Attributes that OpenSM serves and this administrator does not. */
bool isServedElsewhere(uint16_t attribute) {
  static constexpr uint16_t kAttributes[] = {0x11, 0x12, 0x13, 0x14, 0x15, 0x17,
                                             0x18, 0x20, 0x30, 0x33, 0x36, 0xf3};
  return std::find(std::begin(kAttributes), std::end(kAttributes), attribute) !=
         std::end(kAttributes);
}

bool isServedMethod(uint8_t method) {
  switch (static_cast<SaMethod>(method)) {
    case SaMethod::kGet:
    case SaMethod::kSet:
    case SaMethod::kGetTable:
    case SaMethod::kDelete:
      return true;
    default:
      return false;
  }
}

/** The header of an answer. Set is answered by GetResp; every other method by its own. */
SaMad replyTo(const SaMad& request) {
  SaMad reply = request;
  reply.method = request.method == static_cast<uint8_t>(SaMethod::kSet)
                     ? static_cast<uint8_t>(SaMethod::kGetResp)
                     : static_cast<uint8_t>(request.method | kResponseBit);
  reply.rmppVersion = 0;
  reply.smKey = 0;
  reply.attributeOffset = 0;
  return reply;
}

void setExactSelectors(McMemberRecord& record) {
  record.mtuSelector = static_cast<uint8_t>(Selector::kExactly);
  record.rateSelector = static_cast<uint8_t>(Selector::kExactly);
  record.packetLifeTimeSelector = static_cast<uint8_t>(Selector::kExactly);
}

/** What a Get, a Set, a Delete or a GetTable is answered with: the records found, or why not. */
template <typename Record>
SaAnswer replyWith(const SaMad& request, const std::vector<Record>& records, size_t recordSize,
                   void (*pack)(const Record&, uint8_t*)) {
  const size_t stride = padded(recordSize);
  SaAnswer answer{replyTo(request), {}};
  answer.mad.status = codec::kSaOk;
  answer.mad.data.fill(0);
  if (!records.empty()) answer.mad.attributeOffset = static_cast<uint16_t>(stride / 8);
  std::vector<uint8_t> bytes(records.size() * stride, 0);
  for (size_t i = 0; i < records.size(); ++i) pack(records[i], bytes.data() + i * stride);
  std::copy_n(bytes.begin(), std::min(bytes.size(), answer.mad.data.size()),
              answer.mad.data.begin());
  if (request.method == static_cast<uint8_t>(SaMethod::kGetTable)) {
    answer.mad.rmppFlags |= codec::kRmppActive;
    answer.table = std::move(bytes);
  }
  return answer;
}

SaAnswer replyWith(const SaMad& request, const McMemberRecord& record) {
  return replyWith(request, std::vector<McMemberRecord>{record}, kMcMemberRecordSize,
                   codec::packMcMemberRecord);
}

SaAnswer refuse(const SaMad& request, uint16_t status) {
  return {SubnetAdministrator::refusal(request, status), {}};
}

SaAnswer classPortInfo(const SaMad& request) {
  SaMad reply = replyTo(request);
  reply.status = codec::kSaOk;
  reply.data.fill(0);
  uint8_t* data = reply.data.data();
  data[0] = codec::kMadBaseVersion;
  data[1] = codec::kSaClassVersion;
  codec::write16(data + 2, 0x2602);       // CapabilityMask: what OpenSM can do
  codec::write32(data + 4, 0x0016bd10);   // CapabilityMask2 and RespTimeValue 16
  codec::write32(data + 32, 1);           // RedirectQP
  codec::write32(data + 36, 0x80010000);  // RedirectQ_Key
  codec::write32(data + 68, 0x80010000);  // TrapQ_Key
  return {reply, {}};
}

uint64_t prefixOf(const Gid& gid) { return codec::read64(gid.bytes.data()); }
uint64_t guidOf(const Gid& gid) { return codec::read64(gid.bytes.data() + 8); }

bool askedFor(uint64_t mask, McComponent component) { return (mask & bit(component)) != 0; }

}  // namespace

SubnetAdministrator::SubnetAdministrator(const AdministratorOptions& options) : options_(options) {
  restart();
}

int SubnetAdministrator::addPort(KnownPort port) {
  ports_.push_back(std::move(port));
  return static_cast<int>(ports_.size()) - 1;
}

void SubnetAdministrator::restart() {
  groups_.clear();
  freeMlids_.reset(mlids() * options_.groupsPerMlid);
  assignedSerial_ = 0;
  services_.clear();
  subscriptions_.clear();
  news_.clear();
  if (options_.broadcastGroup) addBroadcastGroup();
}

void SubnetAdministrator::addBroadcastGroup() {
  Group group;
  group.wellKnown = true;
  McMemberRecord& record = group.record;
  record.mgid = broadcastMgid(kScopeLinkLocal, kDefaultPkey);
  if (!takeMlid(0, group)) return;
  record.qkey = kBroadcastQkey;
  record.pkey = kDefaultPkey;
  record.mtu = kBroadcastMtu;
  record.rate = kBroadcastRate;
  record.packetLifeTime = kBroadcastLifeTime;
  record.scope = kScopeLinkLocal;
  record.joinState = kFullMember;
  setExactSelectors(record);
  groups_.emplace(record.mgid, std::move(group));
}

SaMad SubnetAdministrator::refusal(const SaMad& request, uint16_t status) {
  SaMad reply = replyTo(request);
  reply.status = status;
  return reply;
}

std::optional<SaAnswer> SubnetAdministrator::answer(Instant now, const SaMad& request,
                                                    int requester) {
  if (request.baseVersion != codec::kMadBaseVersion ||
      request.managementClass != codec::kClassSubnAdm ||
      request.classVersion > codec::kSaClassVersion) {
    return std::nullopt;
  }
  if (request.smKey != 0 && request.smKey != kTrustedKey) return std::nullopt;
  if (!isServedMethod(request.method) && request.method != kGetMulti) return std::nullopt;

  switch (static_cast<SaAttribute>(request.attributeId)) {
    case SaAttribute::kMcMemberRecord:
      return answerMcMember(request, requester);
    case SaAttribute::kPathRecord:
      return answerPath(request);
    case SaAttribute::kServiceRecord:
      return answerService(now, request, requester);
    case SaAttribute::kInformInfo:
      return answerInform(request, requester);
    case SaAttribute::kClassPortInfo:
      if (request.method == static_cast<uint8_t>(SaMethod::kGet)) return classPortInfo(request);
      if (request.method == static_cast<uint8_t>(SaMethod::kGetTable)) {
        return refuse(request, codec::kSaReqInvalid);
      }
      return std::nullopt;
    default:
      break;
  }
  // Saying so is more use to a client than the timeout that an unknown attribute gets.
  if (isServedElsewhere(request.attributeId)) {
    return refuse(request, codec::kSaMethodAttributeUnsupported);
  }
  return std::nullopt;
}

std::optional<SaAnswer> SubnetAdministrator::answerPath(const SaMad& request) const {
  const auto method = static_cast<SaMethod>(request.method);
  if (method == SaMethod::kSet || method == SaMethod::kDelete) return std::nullopt;
  if (!isServedMethod(request.method)) {
    return refuse(request, codec::kSaMethodAttributeUnsupported);
  }
  PathRecord wanted;
  codec::unpackPathRecord(request.data.data(), request.data.size(), wanted);
  const uint64_t mask = request.componentMask;
  if (uint16_t status = pathRequestStatus(wanted, mask, ports_); status != codec::kSaOk) {
    return refuse(request, status);
  }
  std::vector<PathRecord> paths = findPaths(wanted, mask, ports_);
  if (method == SaMethod::kGet) {
    if (paths.empty()) return refuse(request, codec::kSaNoRecords);
    // Of several paths a Get gets the first.
    paths.resize(1);
  }
  return replyWith(request, paths, kPathRecordSize, codec::packPathRecord);
}

SaAnswer SubnetAdministrator::answerService(Instant now, const SaMad& request, int requester) {
  if (!isServedMethod(request.method)) {
    return refuse(request, codec::kSaMethodAttributeUnsupported);
  }
  ServiceRecord wanted;
  codec::unpackServiceRecord(request.data.data(), request.data.size(), wanted);
  const uint64_t mask = request.componentMask;
  auto reply = [&](std::vector<ServiceRecord> records) {
    // The key is for whoever registered the service.
    if (request.smKey == 0) {
      for (ServiceRecord& record : records) record.key = {};
    }
    return replyWith(request, records, kServiceRecordSize, codec::packServiceRecord);
  };
  switch (static_cast<SaMethod>(request.method)) {
    case SaMethod::kSet: {
      const uint64_t needed =
          bit(ServiceComponent::kServiceId) | bit(ServiceComponent::kServiceGid);
      if (!hasAll(mask, needed) || findPortByGuid(wanted.serviceGid) < 0 ||
          (wanted.pkey != 0 &&
           !tableHolds(ports_[static_cast<size_t>(requester)].pkeys, wanted.pkey))) {
        return refuse(request, codec::kSaReqInvalid);
      }
      services_.put(now, wanted, mask);
      // As it stands now, an indefinite lease included.
      std::vector<ServiceRecord> all = services_.find(now, wanted, needed);
      for (const ServiceRecord& record : all) {
        if (record.pkey == wanted.pkey) return reply({record});
      }
      return reply({wanted});
    }
    case SaMethod::kDelete: {
      ServiceRecord removed;
      if (wanted.pkey != 0 &&
          !tableHolds(ports_[static_cast<size_t>(requester)].pkeys, wanted.pkey)) {
        return refuse(request, codec::kSaReqInvalid);
      }
      // By ServiceID, GID and P_Key as they stand in the record, in the mask or not.
      if (!services_.remove(now, wanted, removed)) return refuse(request, codec::kSaNoRecords);
      return reply({removed});
    }
    default:
      break;
  }
  std::vector<ServiceRecord> found = services_.find(now, wanted, mask);
  if (request.method == static_cast<uint8_t>(SaMethod::kGet)) {
    if (found.empty()) return refuse(request, codec::kSaNoRecords);
    if (found.size() > 1) return refuse(request, codec::kSaTooManyRecords);
  }
  return reply(std::move(found));
}

SaAnswer SubnetAdministrator::answerInform(const SaMad& request, int requester) {
  if (request.method != static_cast<uint8_t>(SaMethod::kSet)) {
    return refuse(request, codec::kSaMethodAttributeUnsupported);
  }
  InformInfo wanted;
  codec::unpackInformInfo(request.data.data(), request.data.size(), wanted);
  const bool wellFormed = request.data[kInformSubscribe] <= 1;
  auto lidIsThere = [&] {
    if (wanted.lidRangeBegin == kEveryLid) return true;
    return std::any_of(ports_.begin(), ports_.end(), [&](const KnownPort& port) {
      return port.present && port.lid >= wanted.lidRangeBegin && port.lid <= wanted.lidRangeEnd;
    });
  };
  const bool sourceIsThere = wanted.gid.isZero() ? lidIsThere() : findPortByGid(wanted.gid) >= 0;
  if (!wellFormed || !sourceIsThere) return refuse(request, codec::kSaReqInvalid);

  InformInfo key = wanted;
  key.subscribe = true;
  const auto known = std::find_if(
      subscriptions_.begin(), subscriptions_.end(), [&](const Subscription& subscription) {
        return subscription.port == requester && subscription.info == key;
      });
  if (wanted.subscribe) {
    if (known == subscriptions_.end()) subscriptions_.push_back({requester, key});
  } else {
    if (known == subscriptions_.end()) return refuse(request, codec::kSaReqInvalid);
    subscriptions_.erase(known);
  }
  SaAnswer answer{replyTo(request), {}};
  answer.mad.status = codec::kSaOk;
  // The size in units of 8 bytes, rounded down: OpenSM's slip.
  answer.mad.attributeOffset = static_cast<uint16_t>(kInformInfoSize / 8);
  return answer;
}

void SubnetAdministrator::tell(uint16_t trap, const Gid& mgid) {
  GroupNews news{trap, mgid, {}};
  for (const Subscription& subscription : subscriptions_) {
    const InformInfo& info = subscription.info;
    // Groups are the subnet manager's affair, so a source that is a port excludes them.
    if (!info.isGeneric || !info.gid.isZero() || info.lidRangeBegin != kEveryLid) continue;
    if (info.trapNumber != trap && info.trapNumber != kEveryTrap) continue;
    if (info.producerType != kClassManager && info.producerType != kEveryProducer) continue;
    news.subscribers.push_back(subscription.port);
  }
  news_.push_back(std::move(news));
}

std::vector<GroupNews> SubnetAdministrator::takeNews() { return std::exchange(news_, {}); }

SaAnswer SubnetAdministrator::answerMcMember(const SaMad& request, int requester) {
  McMemberRecord wanted;
  codec::unpackMcMemberRecord(request.data.data(), request.data.size(), wanted);
  const uint64_t mask = request.componentMask;
  const auto method = static_cast<SaMethod>(request.method);
  const bool modifies = method == SaMethod::kSet || method == SaMethod::kDelete;
  if (!isServedMethod(request.method)) {
    return refuse(request, codec::kSaMethodAttributeUnsupported);
  }
  if (modifies && !hasAll(mask, kMembershipComponents)) {
    return refuse(request, codec::kSaInsufficientComponents);
  }
  if (!hasKnownUnits(wanted, mask)) return refuse(request, codec::kSaReqInvalid);
  if (!modifies) return query(request, wanted, requester);
  if (!isPortGid(wanted.portGid)) {
    return refuse(request, codec::kSaReqInvalidGid);
  }
  return method == SaMethod::kSet ? join(request, wanted, requester)
                                  : leave(request, wanted, requester);
}

SaAnswer SubnetAdministrator::query(const SaMad& request, const McMemberRecord& wanted,
                                    int requester) const {
  const uint64_t mask = request.componentMask;
  const bool trusted = request.smKey != 0;
  const bool onePort = askedFor(mask, McComponent::kPortGid);
  const KnownPort& asking = ports_[static_cast<size_t>(requester)];
  std::vector<McMemberRecord> found;

  auto stateMatches = [&](const Group& group, uint8_t joinState) {
    if (askedFor(mask, McComponent::kScope) && wanted.scope != group.record.scope) return false;
    return !askedFor(mask, McComponent::kJoinState) || wanted.joinState == joinState;
  };
  auto add = [&](const Group& group, int port, uint8_t joinState) {
    McMemberRecord record = group.record;
    record.portGid = port >= 0 ? ports_[static_cast<size_t>(port)].gid : Gid{};
    record.joinState = joinState;
    // Who is a member is told to holders of the key alone.
    if (!trusted) {
      record.portGid = Gid{};
      record.joinState = 0;
    }
    found.push_back(record);
  };

  const int wantedPort = onePort ? findPortByGuid(wanted.portGid) : -1;
  const bool oneGroup = askedFor(mask, McComponent::kMgid);
  for (const Gid& mgid : oneGroup ? std::vector<Gid>{wanted.mgid} : groups()) {
    const auto entry = groups_.find(mgid);
    if (entry == groups_.end()) continue;
    const Group& group = entry->second;
    if (askedFor(mask, McComponent::kMlid) && wanted.mlid != group.record.mlid) continue;
    if (!tableHolds(asking.pkeys, group.record.pkey)) continue;
    if (!sameFixedFields(wanted, mask, group.record)) continue;
    if (!selectorsAccept(wanted, mask, group.record)) continue;
    if (onePort) {
      const auto member = group.members.find(wantedPort);
      if (member == group.members.end()) continue;
      if (!stateMatches(group, member->second.joinState)) continue;
      add(group, member->first, member->second.joinState);
    } else if (trusted) {
      for (const auto& [port, membership] : group.members) {
        if (stateMatches(group, membership.joinState)) add(group, port, membership.joinState);
      }
    } else if (stateMatches(group, group.record.joinState)) {
      add(group, -1, 0);
    }
  }

  if (request.method == static_cast<uint8_t>(SaMethod::kGetTable)) {
    return replyWith(request, found, kMcMemberRecordSize, codec::packMcMemberRecord);
  }
  if (found.empty()) return refuse(request, codec::kSaNoRecords);
  if (found.size() > 1) return refuse(request, codec::kSaTooManyRecords);
  return replyWith(request, found[0]);
}

SaAnswer SubnetAdministrator::join(const SaMad& request, const McMemberRecord& wanted,
                                   int requester) {
  const uint64_t mask = request.componentMask;
  const int portIndex = findPortByGuid(wanted.portGid);
  if (portIndex < 0) return refuse(request, codec::kSaReqInvalid);
  const KnownPort& port = ports_[static_cast<size_t>(portIndex)];
  const bool proxied = portIndex != requester;
  if (proxied && !tablesShareAKey(port.pkeys, ports_[static_cast<size_t>(requester)].pkeys)) {
    return refuse(request, codec::kSaReqInvalid);
  }

  auto group = groups_.find(wanted.mgid);
  const bool isNew = group == groups_.end();
  if (isNew) {
    const bool ofNoPartition = askedFor(mask, McComponent::kPkey) && !isPartition(wanted.pkey);
    if ((wanted.joinState & kFullBits) == 0 || ofNoPartition) {
      return refuse(request, codec::kSaReqInvalid);
    }
    if (!hasAll(mask, kMcCreationComponents)) {
      return refuse(request, codec::kSaInsufficientComponents);
    }
    if (uint16_t status = createGroup(wanted, mask, port, group); status != codec::kSaOk) {
      return refuse(request, status);
    }
  }

  const McMemberRecord& record = group->second.record;
  const bool acceptable =
      wanted.joinState != 0 && (isNew || sameFixedFields(wanted, mask, record)) &&
      selectorsAccept(wanted, mask, record) && tableHolds(port.pkeys, record.pkey) &&
      port.mtu >= record.mtu && compareRates(port.rate, record.rate) >= 0 &&
      (isNew || mayModify(group->second, portIndex, requester));
  if (!acceptable) {
    if (isNew) eraseGroup(group);
    return refuse(request, codec::kSaReqInvalid);
  }

  auto [member, first] = group->second.members.try_emplace(portIndex);
  if (first) member->second.proxied = proxied;
  const uint8_t before = member->second.joinState;
  member->second.joinState |= wanted.joinState;
  if ((before & kFullBits) == 0 && (wanted.joinState & kFullBits) != 0) {
    ++group->second.fullMembers;
  }

  if (isNew) tell(kTrapGroupCreated, record.mgid);

  McMemberRecord granted = record;
  granted.portGid = wanted.portGid;
  granted.joinState = member->second.joinState;
  granted.proxyJoin = wanted.proxyJoin;
  return replyWith(request, granted);
}

uint16_t SubnetAdministrator::createGroup(const McMemberRecord& wanted, uint64_t mask,
                                          const KnownPort& port, Groups::iterator& made) {
  Group group;
  McMemberRecord& record = group.record;
  record = wanted;
  if (wanted.mgid.isZero()) {
    const uint8_t scope =
        askedFor(mask, McComponent::kScope) ? wanted.scope : uint8_t{kScopeLinkLocal};
    do {
      record.mgid = assignedMgid(scope, options_.subnetPrefix, assignedSerial_++);
    } while (groups_.count(record.mgid) != 0);
  } else if (!isAcceptableMgid(wanted.mgid) || !belongsToBroadcastGroup(wanted, mask)) {
    return codec::kSaReqInvalid;
  }
  if (!chooseMtu(record, mask, port.mtu) || !chooseRate(record, mask, port.rate) ||
      !tableHolds(port.pkeys, record.pkey)) {
    return codec::kSaReqInvalid;
  }
  if (!takeMlid(wanted.mlid, group)) return codec::kSaNoResources;
  record.portGid = Gid{};
  setExactSelectors(record);
  made = groups_.emplace(record.mgid, std::move(group)).first;
  return codec::kSaOk;
}

bool SubnetAdministrator::belongsToBroadcastGroup(const McMemberRecord& wanted,
                                                  uint64_t mask) const {
  if (!isIpoibMgid(wanted.mgid)) return true;
  const Gid broadcast = broadcastMgidFor(wanted.mgid);
  if (wanted.mgid == broadcast) return true;
  const auto group = groups_.find(broadcast);
  return group != groups_.end() && sameFixedFields(wanted, mask, group->second.record);
}

SaAnswer SubnetAdministrator::leave(const SaMad& request, const McMemberRecord& wanted,
                                    int requester) {
  auto group = groups_.find(wanted.mgid);
  if (group == groups_.end()) return refuse(request, codec::kSaReqInvalid);
  const int portIndex = findPortByGuid(wanted.portGid);
  const auto member = group->second.members.find(portIndex);
  if (member == group->second.members.end()) return refuse(request, codec::kSaReqInvalid);
  const uint8_t held = member->second.joinState;
  if (wanted.joinState == 0 || (wanted.joinState & ~held) != 0 ||
      !mayModify(group->second, portIndex, requester)) {
    return refuse(request, codec::kSaReqInvalid);
  }

  // The answer is the request's own record, but for what the SM knows better.
  McMemberRecord left = wanted;
  setExactSelectors(left);
  left.scope = group->second.record.scope;
  left.joinState = held & ~wanted.joinState;
  // OpenSM drops a port altogether with the last full-member bit of the group.
  if ((wanted.joinState & kFullMember) != 0 && group->second.fullMembers == 1) left.joinState = 0;
  removeMember(group, portIndex, wanted.joinState);
  return replyWith(request, left);
}

bool SubnetAdministrator::mayModify(const Group& group, int port, int requester) const {
  const auto member = group.members.find(port);
  if (member == group.members.end()) return true;
  if (!member->second.proxied) return port == requester;
  return tableHolds(ports_[static_cast<size_t>(requester)].pkeys, group.record.pkey);
}

void SubnetAdministrator::removeMember(Groups::iterator group, int port, uint8_t bits) {
  const auto member = group->second.members.find(port);
  const uint8_t held = member->second.joinState;
  const uint8_t kept = held & ~bits;
  const bool lastFull = (bits & held & kFullMember) != 0 && group->second.fullMembers == 1;
  if (kept == 0 || lastFull) {
    group->second.members.erase(member);
  } else {
    member->second.joinState = kept;
  }
  // OpenSM 3.3.23 counts by the bits that would have been kept. Where a port with both full bits
  // gives up the plain one, it is dropped and yet still counted: the group is never deleted.
  if ((held & kFullBits) != 0 && (kept & kFullBits) == 0 && --group->second.fullMembers == 0) {
    group->second.members.clear();
    if (!group->second.wellKnown) {
      tell(kTrapGroupDeleted, group->second.record.mgid);
      eraseGroup(group);
    }
  }
}

void SubnetAdministrator::forgetMembershipsOf(int portIndex) {
  for (const Gid& mgid : groups()) {
    const auto group = groups_.find(mgid);
    if (group->second.members.count(portIndex) != 0) removeMember(group, portIndex, 0xf);
  }
}

int SubnetAdministrator::findPortByGuid(const Gid& gid) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].present && guidOf(ports_[i].gid) == guidOf(gid)) return static_cast<int>(i);
  }
  return -1;
}

int SubnetAdministrator::findPortByGid(const Gid& gid) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].present && ports_[i].gid == gid) return static_cast<int>(i);
  }
  return -1;
}

bool SubnetAdministrator::isPortGid(const Gid& gid) const {
  const int port = findPortByGuid(gid);
  return prefixOf(gid) == options_.subnetPrefix ||
         (port >= 0 && ports_[static_cast<size_t>(port)].gid == gid);
}

bool SubnetAdministrator::takeMlid(uint16_t wanted, Group& group) {
  // A client may ask for an MLID, even with the bit not in its mask; else the lowest is given.
  std::optional<uint32_t> taken;
  if (wanted >= kFirstMlid && wanted - kFirstMlid < static_cast<int>(mlids())) {
    for (uint32_t turn = 0; turn < options_.groupsPerMlid && !taken; ++turn) {
      const uint32_t place = turn * mlids() + (wanted - kFirstMlid);
      if (freeMlids_.take(place)) taken = place;
    }
  }
  if (!taken) taken = freeMlids_.takeLowest();
  if (!taken) return false;
  group.mlidPlace = *taken;
  group.record.mlid = static_cast<uint16_t>(kFirstMlid + group.mlidPlace % mlids());
  return true;
}

void SubnetAdministrator::eraseGroup(Groups::iterator group) {
  freeMlids_.giveBack(group->second.mlidPlace);
  groups_.erase(group);
}

std::vector<Member> SubnetAdministrator::members() const {
  std::vector<Member> all;
  for (const Gid& mgid : groups()) {
    const Group& group = groups_.at(mgid);
    for (const auto& [port, membership] : group.members) {
      all.push_back(
          {mgid, ports_[static_cast<size_t>(port)].gid, group.record.mlid, membership.joinState});
    }
  }
  return all;
}

std::vector<Gid> SubnetAdministrator::groups() const {
  std::vector<Gid> all;
  all.reserve(groups_.size());
  for (const auto& entry : groups_) all.push_back(entry.first);
  std::sort(all.begin(), all.end());
  return all;
}

size_t SubnetAdministrator::memberCount() const {
  size_t count = 0;
  for (const auto& entry : groups_) count += entry.second.members.size();
  return count;
}

}  // namespace rxib::embedded
