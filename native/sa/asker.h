// What is asked of the SA beside groups: questions, and things that stand there until they are
// taken back (services, subscriptions). Shares requester, window and timeouts with the groups.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ask.h"
#include "core/completion.h"
#include "sa/options.h"
#include "sa/requester.h"

namespace rxib::sa {

/** One thread calls everything here: the client's. */
class Asker {
 public:
  using OnDiagnostic = std::function<void(const Diagnostic&)>;

  Asker(Requester& requester, const Options& options, PortStats& stats, OnDiagnostic onDiagnostic);

  /** `refusal`: why nothing can be sent at present; kOk when it can. */
  void ask(Instant now, HandleId id, const AskSpec& spec, CompletionSink* sink, int refusal);
  /** False for an unknown handle. */
  bool free(Instant now, HandleId id);
  std::vector<HandleId> handlesOf(const CompletionSink* sink) const;

  /** Whether something wants a place in the window, and giving it one. */
  bool waiting() const { return firstInLine() != nullptr; }
  void sendNext(Instant now);

  bool owns(RequestId id) const { return requests_.count(id) != 0; }
  void onOutcome(Instant now, RequestId id, const Outcome& outcome);
  /** Whether there is a subscription, or what is left of one. */
  bool wantsReports() const;
  /** A notice has come: told to every handle that stands for its trap. */
  void onNotice(uint16_t trap, const RecordTable& notice);

  /** All that stands is lost, and what is under way is sent again; nothing with a refusal. */
  void reset(Instant now, ResetReason reason, int refusal);
  /** Ends what waits for a port that can't be used. */
  void refuseAll(int status);

  /** Puts in line what has to be looked at or renewed. */
  void run(Instant now);
  Instant nextDeadline() const;

  /** No handle, and nothing to be taken back. */
  bool idle() const { return asks_.empty(); }
  /** Whether something is still to be taken back. */
  bool unsettled() const { return freed_ > 0; }

 private:
  struct Ask {
    enum class State : uint8_t { kMaking, kStanding, kOver, kUndoing };
    enum class Work : uint8_t { kNone, kMake, kProbe, kRenew, kUndo };

    HandleId id = 0;
    AskSpec spec;
    CompletionSink* sink = nullptr;  // null once freed
    State state = State::kMaking;
    Work work = Work::kNone;  // in line for it, or under way
    RequestId request = kNoRequest;
    bool inLine = false;
    bool mayStand = false;  // a request to make it may have been executed
    bool stood = false;
    bool interrupted = false;  // a subscription that a reset took and that does not stand again yet
    int failures = 0;          // of undoing
    Instant refusedSince = kNever;  // every answer since has refused to renew the subscription
    Instant check = kNever;
    Instant renewAt = kNever;
    Instant leaseEnds = kNever;
    std::list<Ask*>::iterator place;
  };

  void queue(Ask& ask, Ask::Work work);
  void dequeue(Ask& ask);
  void erase(Ask& ask);
  void undo(Ask& ask);
  void abandon(Instant now, Ask& ask);
  void complete(Ask& ask, Completion completion, bool over);
  void fail(Ask& ask, int status, std::optional<uint16_t> saStatus);
  void lose(Ask& ask, ResetReason reason);
  void interrupt(Ask& ask, ResetReason reason);
  void stand(Instant now, Ask& ask);
  void scheduleCheck(Instant now, Ask& ask);
  bool sameThing(const Ask& a, const Ask& b) const;
  bool blocked(const Ask& ask) const;
  Ask* firstInLine() const;
  void checkAt(Ask& ask, Instant when);
  void onMade(Instant now, Ask& ask, const Outcome& outcome);
  void onChecked(Instant now, Ask& ask, const Outcome& outcome);
  void onUndone(Instant now, Ask& ask, const Outcome& outcome);

  Requester& requester_;
  const Options options_;
  PortStats& stats_;
  OnDiagnostic onDiagnostic_;
  std::unordered_map<HandleId, std::unique_ptr<Ask>> asks_;
  size_t freed_ = 0;  // of asks_: those without a sink
  std::unordered_map<RequestId, Ask*> requests_;
  std::list<Ask*> line_;
  std::set<std::pair<Instant, HandleId>> checks_;
  std::mt19937_64 random_;
};

}  // namespace rxib::sa
