// The rules of the subnet administrator, and nothing else: requests in, answers out, no time and no
// delivery. The answers are those of OpenSM 3.3.23, measured (docs/opensm-behaviour.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codec/gid.h"
#include "codec/inform_info.h"
#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "core/clock.h"
#include "embedded/free_places.h"
#include "embedded/known_port.h"
#include "embedded/service_registry.h"

namespace rxib::embedded {

/** One port's membership of one group, as the SM has it. */
struct Member {
  Gid mgid;
  Gid portGid;
  uint16_t mlid = 0;
  uint8_t joinState = 0;
};

struct AdministratorOptions {
  uint64_t subnetPrefix = 0xfe80000000000000ull;
  uint32_t mlidPool = 1024;  // at most kMlidsThere
  bool broadcastGroup = true;
  uint32_t groupsPerMlid = 1;  // MLIDs are shared only once none is left unused
};

/** Multicast LIDs are 0xc000 to 0xfffe. */
constexpr uint32_t kMlidsThere = 0x3fff;

/**
 * An answer. The records of a table stand in `table`, all of them, padded to units of 8 bytes; how
 * many of them reach the client is for the wire to decide.
 */
struct SaAnswer {
  codec::SaMad mad;
  std::vector<uint8_t> table;

  bool isTable() const {
    return mad.method == static_cast<uint8_t>(codec::SaMethod::kGetTableResp) &&
           mad.status == codec::kSaOk;
  }
};

/** A group came into being or went away, and the ports that asked to be told. */
struct GroupNews {
  uint16_t trap = 0;  // kTrapGroupCreated or kTrapGroupDeleted
  Gid mgid;
  std::vector<int> subscribers;
};

class SubnetAdministrator {
 public:
  explicit SubnetAdministrator(const AdministratorOptions& options);

  /** Ports are numbered in the order in which they are added. */
  int addPort(KnownPort port);
  KnownPort& port(int index) { return ports_[static_cast<size_t>(index)]; }

  /** Ends the port's memberships, as when it vanishes from the fabric. */
  void forgetMembershipsOf(int portIndex);

  /** All it has been told is gone, and the serial of assigned MGIDs, as after a restart. */
  void restart();

  /** The answer, or nothing where the real one says nothing. `requester` is a port. */
  std::optional<SaAnswer> answer(Instant now, const codec::SaMad& request, int requester);

  /** What has happened to groups since the last call, oldest first. */
  std::vector<GroupNews> takeNews();

  /** The refusal of a request: its echo under the response method, with `status`. */
  static codec::SaMad refusal(const codec::SaMad& request, uint16_t status);

  std::vector<Member> members() const;
  /** MGIDs, in the order that every list of groups has. */
  std::vector<Gid> groups() const;
  size_t groupCount() const { return groups_.size(); }
  size_t memberCount() const;
  size_t freeMlids() const { return freeMlids_.size(); }

 private:
  struct Membership {
    uint8_t joinState = 0;
    bool proxied = false;  // joined by a request that came from another port
  };
  struct Group {
    McMemberRecord record;              // as created, selectors "exactly"
    std::map<int, Membership> members;  // by port
    uint32_t fullMembers = 0;           // ports counted as full or send-only full
    bool wellKnown = false;             // the SM's own, survives its members
    uint32_t mlidPlace = 0;             // to be given back
  };
  using Groups = std::unordered_map<Gid, Group, GidHash>;

  struct Subscription {
    int port = 0;
    InformInfo info;  // as asked for, `subscribe` set
  };

  SaAnswer answerMcMember(const codec::SaMad& request, int requester);
  std::optional<SaAnswer> answerPath(const codec::SaMad& request) const;
  SaAnswer answerService(Instant now, const codec::SaMad& request, int requester);
  SaAnswer answerInform(const codec::SaMad& request, int requester);
  SaAnswer query(const codec::SaMad& request, const McMemberRecord& wanted, int requester) const;
  SaAnswer join(const codec::SaMad& request, const McMemberRecord& wanted, int requester);
  SaAnswer leave(const codec::SaMad& request, const McMemberRecord& wanted, int requester);

  /** The SA status of the attempt; with kSaOk `made` is the new group. */
  uint16_t createGroup(const McMemberRecord& wanted, uint64_t mask, const KnownPort& port,
                       Groups::iterator& made);
  bool belongsToBroadcastGroup(const McMemberRecord& wanted, uint64_t mask) const;
  bool mayModify(const Group& group, int port, int requester) const;
  void removeMember(Groups::iterator group, int port, uint8_t bits);
  void addBroadcastGroup();

  /** By the low half of the GID, as the SM does; -1 when there is none. */
  int findPortByGuid(const Gid& gid) const;
  bool isPortGid(const Gid& gid) const;
  int findPortByGid(const Gid& gid) const;
  void tell(uint16_t trap, const Gid& mgid);
  bool takeMlid(uint16_t wanted, Group& group);
  void eraseGroup(Groups::iterator group);

  const AdministratorOptions options_;
  std::vector<KnownPort> ports_;
  Groups groups_;
  // A place is an MLID's turn: all MLIDs once, then all of them again, groupsPerMlid times.
  uint32_t mlids() const { return std::min(options_.mlidPool, kMlidsThere); }
  FreePlaces freeMlids_;
  uint32_t assignedSerial_ = 0;
  ServiceRegistry services_;
  std::vector<Subscription> subscriptions_;
  std::vector<GroupNews> news_;
};

}  // namespace rxib::embedded
