// Sends SA requests, repeats them, and matches the answers. Knows nothing of groups.
//
// Every attempt has a transaction id of its own, and an answer to any attempt of a request counts.
// Attempts that were never answered are remembered for a while: when a Set that everybody has given
// up on turns out to have succeeded, somebody has to hear of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "core/completion.h"
#include "core/mad_transport.h"
#include "sa/options.h"

namespace rxib::sa {

/** What was asked. The owner keeps it as long as it needs; late answers hand it back. */
struct Query {
  codec::SaMethod method = codec::SaMethod::kGet;
  McMemberRecord record;
  uint64_t mask = 0;
  // A Set that asks for an MGID must not be repeated: each repeat would make another group.
  bool repeatable = true;
  // Set only: the join-state bits whose fate hangs on this query.
  uint8_t bits = 0;
  // Something else than an MCMemberRecord; the record is then of no account.
  std::shared_ptr<const SaRequest> raw;
  // The PortGID the caller named; zero: the port's own, filled in at sending.
  Gid portGid;

  bool assignsMgid() const {
    return raw == nullptr && method == codec::SaMethod::kSet && record.mgid.isZero();
  }
  uint16_t attribute() const {
    return raw != nullptr ? raw->attribute
                          : static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord);
  }
};

struct Outcome {
  // kMalformed, of raw queries: the SA answered, but not with the records asked for.
  enum class Kind : uint8_t { kAnswered, kTimedOut, kSendFailed, kMalformed };
  Kind kind = Kind::kTimedOut;
  uint16_t saStatus = 0;                     // kAnswered; or kTimedOut after BUSY answers: kSaBusy
  McMemberRecord record;                     // kAnswered with status 0
  std::shared_ptr<const RecordTable> table;  // the same for a raw query
  bool unresolved = false;  // some attempt may have been executed without our knowing
};

using RequestId = uint32_t;
constexpr RequestId kNoRequest = 0;

class Requester {
 public:
  using OnOutcome = std::function<void(RequestId, const Query&, const Outcome&)>;
  /** A Set that had ended turns out to have been executed; `record` is the SA's answer. */
  using OnLateSuccess = std::function<void(const Query&, const McMemberRecord& record)>;
  using OnDiagnostic = std::function<void(const Diagnostic&)>;

  Requester(MadTransport& transport, const Options& options, PortStats& stats);

  void listen(OnOutcome onOutcome, OnLateSuccess onLateSuccess, OnDiagnostic onDiagnostic);

  /** Sends at once. The caller keeps the number of requests within the window. */
  RequestId begin(Instant now, const Query& query);
  /** No further attempt: the request ends with the attempt that is under way. */
  void lastAttempt(RequestId id);
  /** A late success of a Set that has ended shall no longer speak for these bits of a group. */
  void disown(const Gid& mgid, const Gid& portGid, uint8_t bits);
  /** Ends without an outcome. Returns whether the request may have been executed. */
  bool abandon(Instant now, RequestId id);

  void onMad(Instant now, const ReceivedMad& mad);
  /** Repeats and ends what is due. */
  void run(Instant now);
  /** Never later than the next thing due; sometimes earlier, since an answer moves nothing. */
  Instant nextDeadline() const { return due_; }

  size_t outstanding() const { return requests_.size(); }

 private:
  struct Request {
    Query query;
    int attemptsLeft = 0;   // not yet sent
    Instant deadline;       // of the whole request
    Instant next;           // of the attempt under way
    Instant sentAt;         // of the attempt under way
    bool unwanted = false;  // nothing is sent for it any more
    bool everBusy = false;
    int unanswered = 0;  // attempts sent and not answered
    std::vector<uint32_t> ids;
  };
  enum class AttemptState : uint8_t { kLive, kAnswered, kEnded };
  struct Attempt {
    RequestId request = kNoRequest;
    AttemptState state = AttemptState::kLive;
    codec::SaMethod method{};
    uint16_t attribute = 0;
    uint16_t lid = 0;
    std::shared_ptr<const Query> unresolved;  // kEnded Sets only
  };

  int send(Instant now, Request& request, RequestId id);
  void schedule(Request& request, Instant at);
  void endIfPointless(Request& request);
  void finish(Instant now, RequestId id, const Outcome& outcome);
  void retire(Instant now, Request& request);
  void forget(Instant now);
  void report(DiagnosticKind kind, const Gid& mgid, std::optional<uint16_t> saStatus);
  Duration attemptTimeout(const Query& query) const;

  MadTransport& transport_;
  const Options options_;
  PortStats& stats_;
  OnOutcome onOutcome_;
  OnLateSuccess onLateSuccess_;
  OnDiagnostic onDiagnostic_;
  std::unordered_map<RequestId, Request> requests_;
  std::unordered_map<uint32_t, Attempt> attempts_;
  std::deque<uint32_t> answered_;                   // oldest first, bounded by count
  std::deque<std::pair<Instant, uint32_t>> ended_;  // oldest first, bounded by time
  Instant due_ = kNever;                            // nothing is due before
  RequestId lastRequest_ = 0;
  const uint32_t firstTransaction_;  // no id that was sent, but the one before
  uint32_t nextTransaction_;         // the latest that was sent
};

}  // namespace rxib::sa
