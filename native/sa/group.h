// One multicast group of one port, as the SA client keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "codec/mc_member_record.h"
#include "core/completion.h"
#include "core/engine.h"
#include "sa/requester.h"

namespace rxib::sa {

using rxib::JoinSpec;

/** `serial` keeps apart the joins whose MGID the SA has yet to assign; it is 0 for all others. */
struct GroupKey {
  Gid mgid;
  Gid portGid;  // zero: the port's own
  uint64_t serial = 0;

  bool operator==(const GroupKey& other) const {
    return mgid == other.mgid && portGid == other.portGid && serial == other.serial;
  }
};

struct GroupKeyHash {
  size_t operator()(const GroupKey& key) const {
    return GidHash{}(key.mgid) ^ (key.portGid.isZero() ? 0 : GidHash{}(key.portGid) * 31) ^
           static_cast<size_t>(key.serial * 0x9E3779B97F4A7C15ull);
  }
};

struct Group;

/** One handle. It lives until it is freed, whatever became of its join. */
struct Member {
  enum class State : uint8_t {
    kWaiting,    // in line at its group
    kJoining,    // its Set is under way
    kExplained,  // refused; the group's record is being fetched to say why
    kActive,
    kOver,  // told of its failure; only the free is missing
  };

  HandleId id = 0;
  State state = State::kWaiting;
  uint8_t bits = 0;
  Group* group = nullptr;              // not kOver
  CompletionSink* sink = nullptr;      // null once it is detached
  std::unique_ptr<JoinSpec> spec;      // dropped once joined: an idle membership is small
  std::list<Member*>::iterator place;  // kWaiting, kActive: in the group's list
};

/** How far the probe of a group has come (docs/sa-client.md). */
struct Search {
  uint16_t tried = 0;   // join states that were asked for, as bits 1 << state
  uint8_t asked = 0;    // the join state in the request under way; 0: none, the first question
  uint8_t matched = 0;  // what the SA answered to; 0: nothing yet
};

struct Group {
  enum class Work : uint8_t { kNone, kJoin, kLeave, kAudit, kExplain, kProbe };

  explicit Group(const GroupKey& groupKey) : key(groupKey) {}

  GroupKey key;
  McMemberRecord record;  // as last granted; meaningful while `held` is not 0

  std::list<Member*> waiting;
  std::list<Member*> active;
  std::array<uint32_t, 4> counts{};  // active members by join-state bit

  // Each bit of the port's membership stands in at most one of these three.
  uint8_t held = 0;   // granted by the SA, and no Delete has been sent since
  uint8_t owed = 0;   // may stand at the SA though nobody asked for it to stay: to be deleted
  uint8_t stale = 0;  // granted before a reset and not renewed: to be deleted later
  // Stood at the SA before we asked for them: somebody else's on this port, so they are not left.
  // Never among `owed` and `stale`.
  uint8_t borrowed = 0;
  // Why a bit is owed, until its first Delete is sent and counted.
  uint8_t unproven = 0;   // the outcome of its Set is unknown
  uint8_t unrenewed = 0;  // it was stale

  Work work = Work::kNone;
  RequestId request = kNoRequest;
  Member* joining = nullptr;  // kJoin, kExplain; null when it was freed meanwhile
  uint8_t workBits = 0;       // kJoin: asked for; kLeave: being deleted
  uint8_t relapsed = 0;       // of workBits: a late success arrived while they were being deleted
  uint8_t leaveFailures = 0;
  Search search;         // kProbe
  bool split = false;    // a Delete of several bits was refused: one bit at a time
  bool overdue = false;  // the leave under way is for stale bits

  bool ready = false;                 // in the line for a place in the window
  bool auditDue = false;              // in the line of the audit
  bool unsettled = false;             // counted as such
  std::list<Group*>::iterator place;  // in the client's rota
  std::list<Group*>::iterator readyPlace;
  std::list<Group*>::iterator auditPlace;
  std::multimap<Instant, Group*>::iterator stalePlace;  // while `stale` is not 0

  uint8_t needed() const {
    uint8_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      if (counts[static_cast<size_t>(i)] > 0) bits |= static_cast<uint8_t>(1u << i);
    }
    return bits;
  }
  /** What has to be deleted at the SA now. */
  uint8_t leaving() const { return static_cast<uint8_t>((held | owed) & ~borrowed & ~needed()); }
  /** Bits of which it is known whose they are. All but the borrowed ones among them are ours. */
  uint8_t known() const { return static_cast<uint8_t>(held | owed | stale); }
};

}  // namespace rxib::sa
