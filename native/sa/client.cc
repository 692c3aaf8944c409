#include "sa/client.h"

#include <algorithm>
#include <utility>

#include "codec/inform_info.h"
#include "sa/compare.h"

namespace rxib::sa {
namespace {

bool severalBits(uint8_t bits) { return (bits & (bits - 1)) != 0; }
uint8_t lowestBit(uint8_t bits) { return static_cast<uint8_t>(bits & -bits); }
uint8_t without(uint8_t bits, uint8_t removed) { return static_cast<uint8_t>(bits & ~removed); }

// How long an idle port is watched on.
constexpr Duration kIdleWatch = std::chrono::seconds{1};
// The smallest pause between two attempts to delete the same stale membership.
constexpr Duration kStaleRetry = std::chrono::seconds{1};
// More reports than a subnet manager has under way at a time to one port.
constexpr size_t kReportMemory = 64;

// The signatures of IPv4 and IPv6 in the MGIDs of IP over InfiniBand (RFC 4391).
bool hasIpoibSignature(const Gid& mgid) {
  const int signature = mgid.bytes[2] << 8 | mgid.bytes[3];
  return signature == 0x401b || signature == 0x601b;
}

/** The next join state to ask for, the likely ones first; 0 when all have been tried. */
uint8_t nextJoinState(uint16_t tried, uint8_t ours, uint8_t wanted) {
  const uint8_t likely[] = {ours, wanted, static_cast<uint8_t>(ours | wanted), kFullMember, 5};
  for (uint8_t state : likely) {
    if (state != 0 && (tried & (1u << state)) == 0) return state;
  }
  for (uint8_t state = 1; state < 16; ++state) {
    if ((tried & (1u << state)) == 0) return state;
  }
  return 0;
}

int indexOfPartition(const std::vector<uint16_t>& table, uint16_t pkey) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] != 0 && (table[i] & 0x7fff) == (pkey & 0x7fff)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Client::Client(MadTransport& transport, const Options& options, PortStats& stats)
    : transport_(transport),
      options_(options),
      stats_(stats),
      requester_(transport, options, stats),
      asker_(requester_, options, stats, [this](const Diagnostic& d) { diagnose(d); }),
      random_(options.seed) {
  requester_.listen(
      [this](RequestId id, const Query& query, const Outcome& outcome) {
        onOutcome(id, query, outcome);
      },
      [this](const Query& query, const McMemberRecord& record) { onLateSuccess(query, record); },
      [this](const Diagnostic& diagnostic) { diagnose(diagnostic); });
}

// ---------------------------------------------------------------------------------------------
// Handles

void Client::join(Instant now, HandleId id, std::unique_ptr<JoinSpec> spec, CompletionSink* sink) {
  now_ = now;
  watch();
  GroupKey key;
  key.mgid = spec->record.mgid;
  // Whoever spells out the port's own GID shares the group of those who leave it out.
  if (spec->record.portGid != transport_.port().gid) key.portGid = spec->record.portGid;
  if (key.mgid.isZero()) key.serial = ++lastSerial_;
  Group& group = groupFor(key);

  Member& member = members_[id];
  member.id = id;
  member.bits = spec->bits();
  member.group = &group;
  member.sink = sink;
  member.spec = std::move(spec);
  member.place = group.waiting.insert(group.waiting.end(), &member);
  settle(group);
}

/** Why nothing can be sent; kOk when it can. */
int Client::refusal() const {
  if (usable()) return kOk;
  return removed_ ? kENODEV : kEAGAIN;
}

void Client::ask(Instant now, HandleId id, const AskSpec& spec, CompletionSink* sink) {
  now_ = now;
  watch();
  asked_ = true;
  lastAsk_ = now;
  int status = refusal();
  if (status == kOk && spec.trap != 0 && !reporting_) {
    status = transport_.wantReports(true);
    reporting_ = status == kOk;
  }
  asker_.ask(now, id, spec, sink, status);
}

bool Client::free(Instant now, HandleId id) {
  now_ = now;
  if (asker_.free(now, id)) return true;
  auto found = members_.find(id);
  if (found == members_.end()) return false;
  Member& member = found->second;
  Group* group = member.state == Member::State::kOver ? nullptr : member.group;
  switch (member.state) {
    case Member::State::kWaiting:
      group->waiting.erase(member.place);
      break;
    case Member::State::kJoining:
      // The Set under way may well succeed; whatever it gains is left again.
      group->joining = nullptr;
      requester_.lastAttempt(group->request);
      break;
    case Member::State::kExplained:
      group->joining = nullptr;
      cancelQuestion(*group);
      break;
    case Member::State::kActive:
      group->active.erase(member.place);
      --activeMembers_;
      count(*group, member.bits, -1);
      break;
    case Member::State::kOver:
      break;
  }
  members_.erase(found);
  if (group != nullptr) settle(*group);
  return true;
}

void Client::detach(Instant now, CompletionSink* sink) {
  std::vector<HandleId> ids;
  for (auto& [id, member] : members_) {
    if (member.sink != sink) continue;
    ids.push_back(id);
    // The free of one may be the answer to the next.
    member.sink = nullptr;
  }
  const std::vector<HandleId> asked = asker_.handlesOf(sink);
  ids.insert(ids.end(), asked.begin(), asked.end());
  // In the order of the joins, so that a run is reproducible.
  std::sort(ids.begin(), ids.end());
  for (HandleId id : ids) {
    ++stats_.handlesFreed;
    --stats_.handlesAlive;
    free(now, id);
  }
  sinks_.erase(sink);
}

void Client::leaveStaleNow(Instant now) {
  now_ = now;
  std::vector<Group*> groups;
  for (auto& [when, group] : stale_) groups.push_back(group);
  for (Group* group : groups) {
    uint8_t bits = group->stale;
    clearStale(*group, bits);
    owe(*group, bits);
    group->unrenewed |= bits;
    settle(*group);
  }
  // Those that happen to be under way are now waited for, and repeated like any other leave.
  for (auto& [id, group] : requests_) {
    if (group->work != Group::Work::kLeave || !group->overdue) continue;
    group->overdue = false;
    group->owed |= group->workBits;
    countUnsettled(*group);
  }
}

// ---------------------------------------------------------------------------------------------
// The table

Group& Client::groupFor(const GroupKey& key) {
  auto found = groups_.find(key);
  if (found != groups_.end()) return found->second;
  watch();
  std::unique_lock<std::mutex> lock(tableMutex_);
  Group& group = groups_.try_emplace(key, key).first->second;
  lock.unlock();
  group.place = rota_.insert(rota_.end(), &group);
  stats_.groups.set(groups_.size());
  return group;
}

void Client::watch() {
  if (watching_) return;
  watching_ = true;
  transport_.watch(true);
}

void Client::eraseIfIdle(Group& group) {
  if (!group.waiting.empty() || !group.active.empty() || group.work != Group::Work::kNone) return;
  if ((group.held | group.owed | group.stale) != 0) return;
  makeUnready(group);
  if (group.auditDue) audits_.erase(group.auditPlace);
  rota_.erase(group.place);
  GroupKey key = group.key;
  {
    std::lock_guard<std::mutex> lock(tableMutex_);
    groups_.erase(key);
  }
  stats_.groups.set(groups_.size());
  unwatchWhenIdle();
}

void Client::unwatchWhenIdle() {
  unwatchAt_ = kNever;
  if (!watching_ || !groups_.empty() || !asker_.idle()) return;
  // Whoever asks one thing after the other shall not have the port looked at each time.
  if (asked_ && now_ < after(lastAsk_, kIdleWatch)) {
    unwatchAt_ = after(lastAsk_, kIdleWatch);
    return;
  }
  watching_ = false;
  transport_.watch(false);
}

// ---------------------------------------------------------------------------------------------
// Deciding

bool Client::usable() const {
  const PortState& port = transport_.port();
  return !removed_ && port.active() && port.smLid != 0;
}

bool Client::windowOpen() const {
  return usable() && requester_.outstanding() < static_cast<size_t>(options_.maxOutstanding);
}

/** Ends the joins in line that need no request: those that can't be sent and those we can answer.
 */
void Client::answerWaiting(Group& group) {
  if (!usable()) {
    const int status = removed_ ? kENODEV : kEAGAIN;
    while (!group.waiting.empty()) fail(*group.waiting.front(), status);
    return;
  }
  while (!group.waiting.empty()) {
    Member& member = *group.waiting.front();
    if (group.key.mgid.isZero() || without(member.bits, group.held) != 0) return;
    // Whether no bit at all can be joined is for the SA to say.
    if (member.bits == 0) return;
    uint64_t differing = differingComponents(group.record, member.spec->record, member.spec->mask);
    if (differing == 0) {
      group.waiting.pop_front();
      activate(group, member);
    } else if (group.active.empty() && group.leaving() != 0) {
      // Nobody holds the old record any more: it goes with the leave, and the SA is asked then.
      return;
    } else {
      fail(member, kEINVAL, nullptr, differing);
    }
  }
}

/** Brings a group to rest or into the line for the window. The group may be gone afterwards. */
void Client::settle(Group& group) {
  // Nobody wants to know any more.
  if (group.work == Group::Work::kProbe && group.waiting.empty()) cancelQuestion(group);
  const bool questioned = group.work == Group::Work::kAudit;
  if (group.work == Group::Work::kNone || questioned) answerWaiting(group);
  if (removed_) group.held = group.owed = 0;
  if (group.work != Group::Work::kJoin) returnBorrowed(group);
  if (group.leaving() == 0) {
    group.split = false;
    group.leaveFailures = 0;
  }

  const bool wanting = !group.waiting.empty() || group.leaving() != 0;
  if (wanting && questioned) cancelQuestion(group);
  if (wanting && usable() && group.work == Group::Work::kNone) {
    makeReady(group);
  } else if (!wanting) {
    makeUnready(group);
  }
  countUnsettled(group);
  eraseIfIdle(group);
}

void Client::settleAll() {
  wasUsable_ = usable();
  if (!wasUsable_) asker_.refuseAll(refusal());
  std::vector<Group*> groups(rota_.begin(), rota_.end());
  // Settling a group can erase that group only.
  for (Group* group : groups) settle(*group);
}

void Client::countUnsettled(Group& group) {
  const bool unsettled =
      usable() &&
      (group.leaving() != 0 || (group.work == Group::Work::kJoin && group.joining == nullptr));
  if (unsettled == group.unsettled) return;
  group.unsettled = unsettled;
  if (unsettled) {
    ++unsettledGroups_;
  } else {
    --unsettledGroups_;
  }
}

void Client::makeReady(Group& group) {
  if (group.ready) return;
  group.ready = true;
  group.readyPlace = ready_.insert(ready_.end(), &group);
}

void Client::makeUnready(Group& group) {
  if (!group.ready) return;
  group.ready = false;
  ready_.erase(group.readyPlace);
}

void Client::fillWindow() {
  while (windowOpen()) {
    if (asker_.waiting() && (asksTurn_ || ready_.empty())) {
      asksTurn_ = false;
      asker_.sendNext(now_);
      continue;
    }
    asksTurn_ = true;
    if (!ready_.empty()) {
      Group& group = *ready_.front();
      makeUnready(group);
      if (group.work != Group::Work::kNone) continue;
      const bool leaveFirst = group.leaving() != 0 && !group.waiting.empty() &&
                              group.active.empty() &&
                              without(group.waiting.front()->bits, group.held) == 0;
      if (!group.waiting.empty() && !leaveFirst) {
        const uint8_t unknown = without(group.waiting.front()->bits, group.known());
        if (unknown != 0 && probes(group.key.mgid)) {
          group.search = Search{};
          beginProbe(group, 0);
        } else {
          beginJoin(group);
        }
      } else if (group.leaving() != 0) {
        beginLeave(group, group.leaving(), false);
      }
      continue;
    }
    if (!audits_.empty()) {
      Group& group = *audits_.front();
      audits_.pop_front();
      group.auditDue = false;
      if (auditable(group)) beginAudit(group);
      continue;
    }
    if (!beginOverdueLeave()) break;
  }
  if (audits_.empty() && auditsUnderWay_ == 0) sweeping_ = false;
}

/** Deletes of memberships that nobody renewed come behind everything else. */
bool Client::beginOverdueLeave() {
  if (stale_.empty() || stale_.begin()->first > now_) return false;
  Group& group = *stale_.begin()->second;
  // A restarted SM may be assigning the very MGID that is stale here.
  if (group.work != Group::Work::kNone || assigning_ > 0) {
    setStale(group, group.stale, kStaleRetry);
    return true;
  }
  uint8_t bits = group.stale;
  clearStale(group, bits);
  uint8_t lost = without(bits, group.needed());
  if (lost == 0) {
    settle(group);
    return true;
  }
  group.unrenewed |= lost;
  beginLeave(group, lost, true);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Work

void Client::begin(Group& group, Group::Work work, const Query& query) {
  group.work = work;
  group.request = requester_.begin(now_, query);
  requests_[group.request] = &group;
}

void Client::endWork(Group& group) {
  if (group.work == Group::Work::kAudit) --auditsUnderWay_;
  if (group.work == Group::Work::kJoin && group.key.mgid.isZero()) --assigning_;
  requests_.erase(group.request);
  group.request = kNoRequest;
  group.work = Group::Work::kNone;
}

/** Audits, explanations and probes give way: their answer no longer matters. */
void Client::cancelQuestion(Group& group) {
  requester_.abandon(now_, group.request);
  endWork(group);
}

void Client::beginJoin(Group& group) {
  Member& member = *group.waiting.front();
  group.waiting.pop_front();
  member.state = Member::State::kJoining;
  group.joining = &member;
  group.workBits = member.bits;
  Query query;
  query.method = codec::SaMethod::kSet;
  query.record = member.spec->record;
  query.mask = member.spec->mask;
  query.portGid = group.key.portGid;
  // What was there before is none of ours, whatever becomes of the Set.
  query.bits = without(member.bits, group.borrowed);
  query.repeatable = !query.assignsMgid();
  ++stats_.joinsSent;
  if (query.assignsMgid()) ++assigning_;
  begin(group, Group::Work::kJoin, query);
  countUnsettled(group);
}

void Client::beginLeave(Group& group, uint8_t bits, bool overdue) {
  if (group.split && !overdue) bits = lowestBit(bits);
  if ((bits & group.unproven) != 0) {
    ++stats_.compensatingLeaves;
    diagnoseLeave(DiagnosticKind::kCompensatingLeave, group);
  }
  if ((bits & group.unrenewed) != 0) {
    ++stats_.staleLeaves;
    diagnoseLeave(DiagnosticKind::kStaleLeave, group);
  }
  group.unproven = without(group.unproven, bits);
  group.unrenewed = without(group.unrenewed, bits);
  // From here on nobody can say whether they stand, so no join may be answered out of them.
  group.held = without(group.held, bits);
  if (!overdue) group.owed |= bits;
  group.workBits = bits;
  group.overdue = overdue;
  Query query;
  query.method = codec::SaMethod::kDelete;
  query.record.mgid = group.key.mgid;
  query.record.joinState = bits;
  query.mask = bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kJoinState);
  query.portGid = group.key.portGid;
  query.bits = bits;
  ++stats_.leavesSent;
  begin(group, Group::Work::kLeave, query);
  countUnsettled(group);
}

void Client::beginAudit(Group& group) {
  Query query;
  query.record.mgid = group.key.mgid;
  // Without the join state: with it, only exactly the same set of bits would match.
  query.mask = bit(McComponent::kMgid) | bit(McComponent::kPortGid);
  query.portGid = group.key.portGid;
  ++stats_.audits;
  ++auditsUnderWay_;
  begin(group, Group::Work::kAudit, query);
}

void Client::beginExplain(Group& group, Member& member) {
  member.state = Member::State::kExplained;
  group.joining = &member;
  Query query;
  query.record.mgid = group.key.mgid;
  query.mask = bit(McComponent::kMgid);
  begin(group, Group::Work::kExplain, query);
}

/**
 * Asks whether the port is a member, with exactly this join state unless it is 0: whoever asks
 * without the SM_Key is told that there is a member, but not which bits it holds.
 */
void Client::beginProbe(Group& group, uint8_t joinState) {
  group.search.asked = joinState;
  group.search.tried |= static_cast<uint16_t>(1u << joinState);
  Query query;
  query.record.mgid = group.key.mgid;
  query.record.joinState = joinState;
  query.mask = bit(McComponent::kMgid) | bit(McComponent::kPortGid);
  if (joinState != 0) query.mask |= bit(McComponent::kJoinState);
  query.portGid = group.key.portGid;
  ++stats_.probes;
  begin(group, Group::Work::kProbe, query);
}

void Client::onOutcome(RequestId id, const Query& query, const Outcome& outcome) {
  if (asker_.owns(id)) {
    // A subnet manager that has started anew counts its reports from the beginning again.
    if (query.attribute() == static_cast<uint16_t>(codec::SaAttribute::kInformInfo)) {
      reports_.clear();
    }
    asker_.onOutcome(now_, id, outcome);
    return;
  }
  Group& group = *requests_.at(id);
  const Group::Work work = group.work;
  endWork(group);
  switch (work) {
    case Group::Work::kJoin:
      onJoinOutcome(group, query, outcome);
      break;
    case Group::Work::kLeave:
      onLeaveOutcome(group, outcome);
      break;
    case Group::Work::kAudit:
      onAuditOutcome(group, outcome);
      break;
    case Group::Work::kExplain:
      onExplainOutcome(group, outcome);
      break;
    case Group::Work::kProbe:
      onProbeOutcome(group, outcome);
      break;
    case Group::Work::kNone:
      break;
  }
  settle(group);
}

void Client::onJoinOutcome(Group& group, const Query& query, const Outcome& outcome) {
  Member* member = std::exchange(group.joining, nullptr);
  const uint8_t bits = group.workBits;

  if (outcome.kind != Outcome::Kind::kAnswered) {
    // An MGID that nobody told us can't be left.
    if (outcome.unresolved && !query.assignsMgid()) oweUnproven(group, bits);
    if (member == nullptr) return;
    const bool sent = outcome.kind == Outcome::Kind::kTimedOut;
    fail(*member, sent ? kETIMEDOUT : kEIO, outcome.saStatus == 0 ? nullptr : &outcome);
    return;
  }
  if (outcome.saStatus != codec::kSaOk) {
    // The refusal speaks for one attempt only; another may have been granted without our hearing.
    if (outcome.unresolved && !query.assignsMgid()) oweUnproven(group, bits);
    if (member == nullptr) return;
    if (outcome.saStatus == codec::kSaReqInvalid && !query.assignsMgid()) {
      beginExplain(group, *member);
      return;
    }
    const uint64_t fields = outcome.saStatus == codec::kSaInsufficientComponents
                                ? missingCreationComponents(query.mask)
                                : 0;
    fail(*member, kEINVAL, &outcome, fields);
    return;
  }
  if (query.assignsMgid() && !assigned(group, outcome.record)) {
    if (member != nullptr) fail(*member, kEPROTO, &outcome, bit(McComponent::kMgid));
    return;
  }
  {
    std::lock_guard<std::mutex> lock(tableMutex_);
    group.record = outcome.record;
  }
  group.held |= bits;
  group.owed = without(group.owed, bits);
  group.unproven = without(group.unproven, bits);
  group.unrenewed = without(group.unrenewed, bits);
  clearStale(group, bits);
  if (member != nullptr) activate(group, *member);
}

/** Re-keys a group under the MGID it was given; false when others use that MGID already. */
bool Client::assigned(Group& group, const McMemberRecord& record) {
  GroupKey key;
  key.mgid = record.mgid;
  key.portGid = group.key.portGid;
  auto existing = groups_.find(key);
  if (existing != groups_.end()) {
    Group& other = existing->second;
    if (!other.active.empty() || !other.waiting.empty() || other.work != Group::Work::kNone) {
      oweUnproven(other, without(group.workBits, other.needed()));
      settle(other);
      return false;
    }
    // Only what a lost membership left: a restarted SM hands out the same MGIDs once more.
    setStale(group, other.stale, options_.staleLeave);
    owe(group, static_cast<uint8_t>(other.held | other.owed));
    clearStale(other, other.stale);
    other.held = other.owed = 0;
    settle(other);
  }
  std::lock_guard<std::mutex> lock(tableMutex_);
  auto node = groups_.extract(group.key);
  node.key() = key;
  group.key = key;
  groups_.insert(std::move(node));
  return true;
}

void Client::onLeaveOutcome(Group& group, const Outcome& outcome) {
  const uint8_t bits = group.workBits;
  const bool answered = outcome.kind == Outcome::Kind::kAnswered;
  const bool notThere = answered && outcome.saStatus == codec::kSaReqInvalid;
  const uint8_t relapsed = std::exchange(group.relapsed, uint8_t{0});

  if (notThere && severalBits(bits)) {
    // One bit that is not held makes the SA refuse them all.
    group.split = true;
    owe(group, bits);
  } else if (notThere || (answered && outcome.saStatus == codec::kSaOk)) {
    group.owed = without(group.owed, bits);
    group.leaveFailures = 0;
  } else if (group.overdue || group.leaveFailures++ >= options_.leaveRetries) {
    ++stats_.leavesFailed;
    Diagnostic diagnostic;
    diagnostic.kind = DiagnosticKind::kLeaveFailed;
    diagnostic.mgid = group.key.mgid;
    diagnostic.status = answered                                   ? kEINVAL
                        : outcome.kind == Outcome::Kind::kTimedOut ? kETIMEDOUT
                                                                   : kEIO;
    if (outcome.saStatus != 0) diagnostic.saStatus = outcome.saStatus;
    diagnose(diagnostic);
    group.leaveFailures = 0;
    group.owed = without(group.owed, bits);
    // The SA refused for good, or is silent; in the latter case the Delete stays due until
    // answered.
    if (!answered) setStale(group, bits, std::max(options_.staleLeave, kStaleRetry));
  }
  group.overdue = false;
  oweUnproven(group, relapsed);
}

void Client::onExplainOutcome(Group& group, const Outcome& outcome) {
  Member* member = std::exchange(group.joining, nullptr);
  if (member == nullptr) return;
  Outcome refusal;
  refusal.kind = Outcome::Kind::kAnswered;
  refusal.saStatus = codec::kSaReqInvalid;
  uint64_t fields = 0;
  if (outcome.kind == Outcome::Kind::kAnswered && outcome.saStatus == codec::kSaOk) {
    fields = differingComponents(outcome.record, member->spec->record, member->spec->mask);
  }
  fail(*member, kEINVAL, &refusal, fields);
}

/** Ends in the Set, in the next question, or in the failure of the join. */
void Client::onProbeOutcome(Group& group, const Outcome& outcome) {
  if (outcome.kind != Outcome::Kind::kAnswered) {
    // The Set would fare no better, and nobody could say afterwards whose the bits are.
    const int status = outcome.kind == Outcome::Kind::kTimedOut ? kETIMEDOUT : kEIO;
    fail(*group.waiting.front(), status, outcome.saStatus == 0 ? nullptr : &outcome);
    return;
  }
  Search& search = group.search;
  const bool found = outcome.saStatus == codec::kSaOk;
  const bool absent = outcome.saStatus == codec::kSaNoRecords;
  if (absent && search.asked == 0 && group.held != 0) {
    // Not what was asked, but a lost membership all the same.
    group.held = 0;
    resetMembers(group, ResetReason::kMembershipLost);
    auditRest();
  }
  answerWaiting(group);
  // A port that can't send has the probe repeated when it can.
  if (group.waiting.empty() || !windowOpen()) return;
  const uint8_t asked = without(group.waiting.front()->bits, group.known());
  // Another join than the one it was begun for, and that one needs no answer.
  if (asked == 0) return;

  uint8_t theirs = asked;  // where the answers prove nothing: nobody is evicted then
  if (absent && search.asked == 0) {
    theirs = 0;
  } else if (search.matched != 0) {
    // The counter-check: an SA that finds more than exactly what it is asked for is not believed.
    if (absent) theirs = static_cast<uint8_t>(asked & search.matched);
  } else if (found && search.asked != 0) {
    search.matched = search.asked;
    if (without(asked, search.matched) != 0) {
      beginProbe(group, search.matched | asked);
      return;
    }
  } else if (found || absent) {
    const uint8_t ours = without(group.known(), group.borrowed);
    const uint8_t next = nextJoinState(search.tried, ours, asked);
    if (next != 0) {
      beginProbe(group, next);
      return;
    }
  }
  setBorrowed(group, static_cast<uint8_t>(without(group.borrowed, asked) | theirs));
  // A Set of former times that was never answered has been left since, or it would be known here.
  if (theirs != 0) requester_.disown(group.key.mgid, group.key.portGid, theirs);
  beginJoin(group);
}

void Client::onLateSuccess(const Query& query, const McMemberRecord& record) {
  GroupKey key;
  key.mgid = record.mgid;
  key.portGid = query.portGid;
  Group& group = groupFor(key);
  oweUnproven(group, without(query.bits, group.needed()));
  settle(group);
}

bool Client::probes(const Gid& mgid) const {
  if (mgid.isZero() || options_.probe == Probe::kNever) return false;
  return options_.probe == Probe::kAlways || hasIpoibSignature(mgid);
}

void Client::setBorrowed(Group& group, uint8_t bits) {
  if (group.borrowed == 0 && bits != 0) ++stats_.borrowed;
  if (group.borrowed != 0 && bits == 0) --stats_.borrowed;
  group.borrowed = bits;
}

/** Lets go of what is not ours and nobody needs, without a word to the SA. */
void Client::returnBorrowed(Group& group) {
  const uint8_t returned = without(group.borrowed, group.needed());
  if (returned == 0) return;
  group.held = without(group.held, returned);
  setBorrowed(group, without(group.borrowed, returned));
}

/** Notes that `bits` may stand at the SA without anybody wanting them. */
void Client::owe(Group& group, uint8_t bits) {
  bits = without(bits, group.borrowed);
  group.owed |= without(bits, group.held);
  clearStale(group, group.owed);
}

/** The same for bits of a Set that nobody waits for and that may have been executed. */
void Client::oweUnproven(Group& group, uint8_t bits) {
  bits = without(bits, group.borrowed);
  if (group.work == Group::Work::kLeave) {
    // The Delete under way may have been executed before the Set that has just turned up.
    group.relapsed |= static_cast<uint8_t>(bits & group.workBits);
    bits = without(bits, group.workBits);
  }
  group.unproven |= without(bits, group.held);
  owe(group, bits);
}

// ---------------------------------------------------------------------------------------------
// Resets

void Client::onPortEvent(const PortEvent& event) {
  ++stats_.portEvents;
  // First, since whoever is told may open the port anew.
  if (event.reason == ResetReason::kDeviceRemoved) removed_ = true;
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kPortEvent;
  diagnostic.reason = event.reason;
  diagnose(diagnostic);
  switch (event.reason) {
    case ResetReason::kNone:
      settleAll();
      break;
    case ResetReason::kPkeyChange:
      resetPartitions(event.pkeysBefore);
      break;
    default:
      resetPort(event.reason);
      break;
  }
}

void Client::resetPort(ResetReason reason) {
  for (Group* group : rota_) {
    interrupt(*group);
    resetMembers(*group, reason);
    if (removed_) clearStale(*group, group->stale);
  }
  asker_.reset(now_, reason, refusal());
  // Only now that all members have been told do joins in line go on.
  settleAll();
}

void Client::resetPartitions(const std::vector<uint16_t>& before) {
  const std::vector<uint16_t>& now = transport_.port().pkeys;
  std::vector<Group*> concerned;
  for (Group* group : rota_) {
    if (group->active.empty()) continue;
    const uint16_t pkey = group->record.pkey;
    if (indexOfPartition(before, pkey) == indexOfPartition(now, pkey)) continue;
    interrupt(*group);
    resetMembers(*group, ResetReason::kPkeyChange);
    concerned.push_back(group);
  }
  for (Group* group : concerned) settle(*group);
}

/** Gives up the request under way, so that the group can start afresh. */
void Client::interrupt(Group& group) {
  switch (group.work) {
    case Group::Work::kNone:
      return;
    case Group::Work::kAudit:
    case Group::Work::kProbe:
      cancelQuestion(group);
      return;
    case Group::Work::kExplain:
      cancelQuestion(group);
      onExplainOutcome(group, Outcome{});
      return;
    case Group::Work::kLeave: {
      requester_.abandon(now_, group.request);
      endWork(group);
      group.leaveFailures = 0;
      // The bits of an overdue leave stand nowhere else any more, and it was in no hurry.
      if (group.overdue) setStale(group, group.workBits, options_.staleLeave);
      group.overdue = false;
      oweUnproven(group, std::exchange(group.relapsed, uint8_t{0}));
      return;
    }
    case Group::Work::kJoin: {
      const bool unresolved = requester_.abandon(now_, group.request);
      endWork(group);
      if (unresolved && !group.key.mgid.isZero()) oweUnproven(group, group.workBits);
      if (Member* member = std::exchange(group.joining, nullptr)) {
        member->state = Member::State::kWaiting;
        member->place = group.waiting.insert(group.waiting.begin(), member);
      }
      return;
    }
  }
}

void Client::resetMembers(Group& group, ResetReason reason) {
  const uint8_t ours = without(group.held, group.borrowed);
  const uint8_t kept = static_cast<uint8_t>(ours & group.needed());
  const uint8_t leaving = without(ours, kept);
  group.held = 0;
  {
    // First, since whoever is told may ask for the record at once.
    std::lock_guard<std::mutex> lock(tableMutex_);
    group.counts = {};
  }
  while (!group.active.empty()) {
    Member& member = *group.active.front();
    group.active.pop_front();
    --activeMembers_;
    Completion completion;
    completion.status = kENETRESET;
    completion.reason = reason;
    ++stats_.resets;
    complete(member, std::move(completion));
  }
  owe(group, leaving);
  if (kept != 0) setStale(group, kept, options_.staleLeave);
}

void Client::setStale(Group& group, uint8_t bits, Duration delay) {
  if (bits == 0) return;
  if (group.stale != 0) stale_.erase(group.stalePlace);
  group.stale |= bits;
  group.stalePlace = stale_.emplace(after(now_, delay), &group);
}

void Client::clearStale(Group& group, uint8_t bits) {
  if (group.stale == 0) return;
  group.stale = without(group.stale, bits);
  if (group.stale == 0) stale_.erase(group.stalePlace);
}

// ---------------------------------------------------------------------------------------------
// Audit

bool Client::auditable(const Group& group) const {
  return !group.active.empty() && group.work == Group::Work::kNone && !group.ready;
}

void Client::scheduleAudit() {
  std::uniform_real_distribution<double> jitter(0.8, 1.2);
  const auto pause = std::chrono::duration_cast<Duration>(options_.auditInterval * jitter(random_));
  // An instant that is not ahead of now would keep the driver running forever.
  nextAudit_ = after(now_, std::max(pause, Duration{1}));
}

void Client::auditInTurn() {
  if (options_.auditInterval == Duration{0}) return;
  if (activeMembers_ == 0) {
    nextAudit_ = kNever;
    return;
  }
  if (nextAudit_ == kNever) scheduleAudit();
  if (now_ < nextAudit_) return;
  scheduleAudit();
  for (size_t i = 0; i < rota_.size(); ++i) {
    Group& group = *rota_.front();
    rota_.splice(rota_.end(), rota_, rota_.begin());
    if (!auditable(group) || group.auditDue) continue;
    group.auditDue = true;
    group.auditPlace = audits_.insert(audits_.end(), &group);
    return;
  }
}

/** One membership is gone without an event; the others are looked at at once. */
void Client::auditRest() {
  if (sweeping_) return;
  sweeping_ = true;
  for (Group* group : rota_) {
    if (!auditable(*group) || group->auditDue) continue;
    group->auditDue = true;
    group->auditPlace = audits_.insert(audits_.end(), group);
  }
}

void Client::onAuditOutcome(Group& group, const Outcome& outcome) {
  // Silence, BUSY and refusals prove nothing.
  if (outcome.kind != Outcome::Kind::kAnswered) return;
  const bool gone = outcome.saStatus == codec::kSaNoRecords;
  const bool found = outcome.saStatus == codec::kSaOk;
  const bool changed = found && (outcome.record.mlid != group.record.mlid ||
                                 outcome.record.qkey != group.record.qkey ||
                                 outcome.record.pkey != group.record.pkey);
  if (!gone && !changed) return;
  if (gone) group.held = 0;
  resetMembers(group, ResetReason::kMembershipLost);
  auditRest();
}

// ---------------------------------------------------------------------------------------------
// Telling

void Client::activate(Group& group, Member& member) {
  member.state = Member::State::kActive;
  member.spec.reset();
  member.place = group.active.insert(group.active.end(), &member);
  ++activeMembers_;
  count(group, member.bits, 1);
  ++stats_.joined;
  Completion completion;
  completion.handle = member.id;
  completion.record = group.record;
  // What this handle holds, not what the port has gathered.
  completion.record->joinState = member.bits;
  if (member.sink != nullptr) member.sink->complete(std::move(completion));
}

void Client::count(Group& group, uint8_t bits, int by) {
  std::lock_guard<std::mutex> lock(tableMutex_);
  for (size_t i = 0; i < 4; ++i) {
    if (bits & (1u << i)) group.counts[i] += static_cast<uint32_t>(by);
  }
}

std::optional<McMemberRecord> Client::memberRecord(const Gid& mgid) const {
  // A group joined on behalf of another port, under a key with its GID, is not this one's.
  GroupKey key;
  key.mgid = mgid;
  std::lock_guard<std::mutex> lock(tableMutex_);
  const auto found = groups_.find(key);
  if (found == groups_.end() || found->second.needed() == 0) return std::nullopt;
  McMemberRecord record = found->second.record;
  record.joinState = found->second.needed();
  return record;
}

/** The last word to a handle: it stays in the table only for its free. */
void Client::complete(Member& member, Completion completion) {
  completion.handle = member.id;
  if (member.state == Member::State::kWaiting) member.group->waiting.erase(member.place);
  member.state = Member::State::kOver;
  member.group = nullptr;
  member.spec.reset();
  if (member.sink != nullptr) member.sink->complete(std::move(completion));
}

void Client::fail(Member& member, int status, const Outcome* outcome, uint64_t fields) {
  ++stats_.failed;
  Completion completion;
  completion.status = status;
  completion.fields = fields;
  if (outcome != nullptr) completion.saStatus = outcome->saStatus;
  complete(member, std::move(completion));
}

void Client::diagnose(const Diagnostic& diagnostic) {
  for (CompletionSink* sink : sinks_) sink->diagnose(diagnostic);
}

void Client::diagnoseLeave(DiagnosticKind kind, const Group& group) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.mgid = group.key.mgid;
  diagnose(diagnostic);
}

// ---------------------------------------------------------------------------------------------

void Client::onMad(const ReceivedMad& mad) {
  codec::SaMad report;
  if (codec::unpackSaMad(mad.bytes.data(), mad.bytes.size(), report) &&
      report.managementClass == codec::kClassSubnAdm &&
      report.method == static_cast<uint8_t>(codec::SaMethod::kReport)) {
    onReport(mad, report);
    return;
  }
  requester_.onMad(now_, mad);
}

/** A report is answered, or it would be repeated, and handed on once. */
void Client::onReport(const ReceivedMad& mad, const codec::SaMad& report) {
  Notice notice;
  if (report.attributeId != static_cast<uint16_t>(codec::SaAttribute::kNotice) ||
      mad.sourceLid != transport_.port().smLid) {
    ++stats_.foreignReplies;
    return;
  }
  codec::unpackNotice(report.data.data(), report.data.size(), notice);
  codec::SaMad response = report;
  response.method = static_cast<uint8_t>(codec::SaMethod::kReportResp);
  response.status = codec::kSaOk;
  codec::MadBytes bytes;
  codec::packSaMad(response, bytes);
  // Should it be lost, the report comes again; nobody would be helped by a failure here.
  (void)transport_.send(bytes, mad.sourceLid, transport_.port().smSl, Duration{0});
  // Our answer was lost, or too slow.
  if (std::find(reports_.begin(), reports_.end(), mad.bytes) != reports_.end()) return;
  reports_.push_back(mad.bytes);
  if (reports_.size() > kReportMemory) reports_.pop_front();
  // A vendor's own notice has the vendor's number where the others have that of a trap.
  if (!notice.isGeneric) return;
  RecordTable table;
  table.bytes.assign(report.data.begin(), report.data.begin() + kNoticeSize);
  table.stride = kNoticeSize;
  table.count = 1;
  table.notice = true;
  asker_.onNotice(notice.trapNumber, table);
}

Instant Client::run(Instant now) {
  now_ = now;
  const Instant poll = transport_.poll(now, *this);
  // A transport that learnt of the port's state without an event must not leave groups stranded.
  if (usable() != wasUsable_) settleAll();
  requester_.run(now);
  asker_.run(now);
  auditInTurn();
  fillWindow();
  Instant next = std::min(poll, requester_.nextDeadline());
  next = std::min({next, nextAudit_, asker_.nextDeadline()});
  if (reporting_ && !asker_.wantsReports()) {
    reporting_ = false;
    (void)transport_.wantReports(false);
  }
  unwatchWhenIdle();
  next = std::min(next, unwatchAt_);
  if (!stale_.empty() && windowOpen()) next = std::min(next, stale_.begin()->first);
  return next;
}

}  // namespace rxib::sa
