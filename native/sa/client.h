// The SA client of one port: the group table and its state machine (docs/sa-client.md).
//
// One thread calls everything here. Requests to one group are serialised; groups run side by side
// within the window. A membership belongs to the port: handles on one group share it, counted per
// join-state bit.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "core/completion.h"
#include "core/mad_transport.h"
#include "sa/asker.h"
#include "sa/group.h"
#include "sa/options.h"
#include "sa/requester.h"

namespace rxib::sa {

class Client final : public MadTransport::Listener {
 public:
  Client(MadTransport& transport, const Options& options, PortStats& stats);

  void attach(CompletionSink* sink) { sinks_.insert(sink); }
  /** Frees every handle of `sink`, which is not called again. */
  void detach(Instant now, CompletionSink* sink);

  void join(Instant now, HandleId id, std::unique_ptr<JoinSpec> spec, CompletionSink* sink);
  void ask(Instant now, HandleId id, const AskSpec& spec, CompletionSink* sink);
  /** Unknown handles are ignored, so that a free is harmless however late it comes; false then. */
  bool free(Instant now, HandleId id);

  /** From any thread: the device is gone for good. So since before anybody was told. */
  bool removed() const { return removed_; }
  /** From any thread: the record of a group that is joined on behalf of this port. */
  std::optional<McMemberRecord> memberRecord(const Gid& mgid) const;

  /** Deletes what is left of memberships lost to a reset now instead of later. */
  void leaveStaleNow(Instant now);

  /** Polls the transport, does what is due, returns the next deadline. */
  Instant run(Instant now);

  /** Whether a freed handle has not yet left a fabric that could be told. */
  bool unsettled() const { return unsettledGroups_ > 0 || (usable() && asker_.unsettled()); }

  /** Requests in the window. */
  size_t outstanding() const { return requester_.outstanding(); }
  /** Whether more requests are to follow them, without a word from anybody. */
  bool hasLine() const { return !ready_.empty() || asker_.waiting(); }

  void onMad(const ReceivedMad& mad) override;
  void onPortEvent(const PortEvent& event) override;

 private:
  // Table
  Group& groupFor(const GroupKey& key);
  void watch();
  void unwatchWhenIdle();
  void eraseIfIdle(Group& group);

  // Deciding
  void settle(Group& group);
  void answerWaiting(Group& group);
  void countUnsettled(Group& group);
  void makeReady(Group& group);
  void makeUnready(Group& group);
  void fillWindow();
  bool beginOverdueLeave();
  bool windowOpen() const;
  bool usable() const;
  int refusal() const;
  void onReport(const ReceivedMad& mad, const codec::SaMad& report);

  // Work
  void beginJoin(Group& group);
  void beginLeave(Group& group, uint8_t bits, bool overdue);
  void beginAudit(Group& group);
  void beginExplain(Group& group, Member& member);
  void beginProbe(Group& group, uint8_t joinState);
  void begin(Group& group, Group::Work work, const Query& query);
  void endWork(Group& group);
  void cancelQuestion(Group& group);
  void onOutcome(RequestId id, const Query& query, const Outcome& outcome);
  void onJoinOutcome(Group& group, const Query& query, const Outcome& outcome);
  void onLeaveOutcome(Group& group, const Outcome& outcome);
  void onAuditOutcome(Group& group, const Outcome& outcome);
  void onExplainOutcome(Group& group, const Outcome& outcome);
  void onProbeOutcome(Group& group, const Outcome& outcome);
  void onLateSuccess(const Query& query, const McMemberRecord& record);
  bool assigned(Group& group, const McMemberRecord& record);

  // Resets
  void resetPort(ResetReason reason);
  void resetPartitions(const std::vector<uint16_t>& before);
  void interrupt(Group& group);
  void resetMembers(Group& group, ResetReason reason);
  void setStale(Group& group, uint8_t bits, Duration delay);
  void clearStale(Group& group, uint8_t bits);
  void owe(Group& group, uint8_t bits);
  void oweUnproven(Group& group, uint8_t bits);
  void settleAll();

  // Borrowed bits
  bool probes(const Gid& mgid) const;
  void setBorrowed(Group& group, uint8_t bits);
  void returnBorrowed(Group& group);

  // Audit
  void scheduleAudit();
  void auditInTurn();
  void auditRest();
  bool auditable(const Group& group) const;

  // Telling
  void activate(Group& group, Member& member);
  void count(Group& group, uint8_t bits, int by);
  void complete(Member& member, Completion completion);
  void fail(Member& member, int status, const Outcome* outcome = nullptr, uint64_t fields = 0);
  void diagnose(const Diagnostic& diagnostic);
  void diagnoseLeave(DiagnosticKind kind, const Group& group);

  MadTransport& transport_;
  const Options options_;
  PortStats& stats_;
  Requester requester_;
  Asker asker_;
  Instant now_{};
  // Held to change what memberRecord() reads: the table itself, and a group's record and counts.
  mutable std::mutex tableMutex_;
  std::unordered_map<GroupKey, Group, GroupKeyHash> groups_;
  std::unordered_map<HandleId, Member> members_;
  std::unordered_map<RequestId, Group*> requests_;
  std::unordered_set<CompletionSink*> sinks_;
  std::list<Group*> rota_;   // every group; the audit takes them in turn
  std::list<Group*> ready_;  // joins and leaves, in order
  std::list<Group*> audits_;
  std::multimap<Instant, Group*> stale_;  // by the time at which their stale bits are deleted
  size_t activeMembers_ = 0;
  size_t auditsUnderWay_ = 0;
  size_t assigning_ = 0;  // Sets under way that ask for an MGID
  Instant nextAudit_ = kNever;
  bool sweeping_ = false;  // a loss was found: the rest of the port is being checked
  std::atomic<bool> removed_{false};
  bool watching_ = false;
  bool reporting_ = false;                    // the transport hands reports over
  std::deque<std::vector<uint8_t>> reports_;  // the latest, to know repeats by
  Instant unwatchAt_ = kNever;
  bool asked_ = false;
  Instant lastAsk_{};
  bool asksTurn_ = false;   // groups and asks take turns in the window
  bool wasUsable_ = false;  // at the last look at all groups
  uint64_t lastSerial_ = 0;
  size_t unsettledGroups_ = 0;
  std::mt19937_64 random_;
};

}  // namespace rxib::sa
