// The rules of the subnet administrator, and nothing else: requests in, answers out, no time and no
// delivery. The answers are those of OpenSM 3.3.23, measured (docs/opensm-behaviour.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "codec/gid.h"
#include "codec/mad.h"
#include "codec/mc_member_record.h"

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
};

/** Multicast LIDs are 0xc000 to 0xfffe. */
constexpr uint32_t kMlidsThere = 0x3fff;

/** What the SM knows of a port. */
struct KnownPort {
  Gid gid;
  std::vector<uint16_t> pkeys;
  uint8_t mtu = 0;   // code
  uint8_t rate = 0;  // code
  bool present = true;
};

class SubnetAdministrator {
 public:
  explicit SubnetAdministrator(const AdministratorOptions& options);

  /** Ports are numbered in the order in which they are added. */
  int addPort(KnownPort port);
  KnownPort& port(int index) { return ports_[static_cast<size_t>(index)]; }

  /** Ends the port's memberships, as when it vanishes from the fabric. */
  void forgetMembershipsOf(int portIndex);

  /** Groups, members and the serial of assigned MGIDs are gone, as after a restart. */
  void restart();

  /** The answer, or nothing where the real one says nothing. `requester` is a port. */
  std::optional<codec::SaMad> answer(const codec::SaMad& request, int requester);

  /** The refusal of a request: its echo under the response method, with `status`. */
  static codec::SaMad refusal(const codec::SaMad& request, uint16_t status);

  std::vector<Member> members() const;
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
  };
  using Groups = std::map<Gid, Group>;

  std::optional<codec::SaMad> answerMcMember(const codec::SaMad& request, int requester);
  codec::SaMad query(const codec::SaMad& request, const McMemberRecord& wanted,
                     int requester) const;
  codec::SaMad join(const codec::SaMad& request, const McMemberRecord& wanted, int requester);
  codec::SaMad leave(const codec::SaMad& request, const McMemberRecord& wanted, int requester);

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
  uint16_t takeMlid(uint16_t wanted);
  void eraseGroup(Groups::iterator group);

  const AdministratorOptions options_;
  std::vector<KnownPort> ports_;
  Groups groups_;
  std::set<uint16_t> freeMlids_;
  uint32_t assignedSerial_ = 0;
};

}  // namespace rxib::embedded
