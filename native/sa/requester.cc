#include "sa/requester.h"

#include <algorithm>
#include <utility>

#include "codec/sa_table.h"

namespace rxib::sa {
namespace {

// Enough to tell a duplicate from a stranger's answer; more would only cost memory.
constexpr size_t kAnsweredMemory = 1024;

codec::SaMethod responseTo(codec::SaMethod method) {
  switch (method) {
    case codec::SaMethod::kDelete:
      return codec::SaMethod::kDeleteResp;
    case codec::SaMethod::kGetTable:
      return codec::SaMethod::kGetTableResp;
    default:
      return codec::SaMethod::kGetResp;
  }
}

/** The records of a successful answer; null when it is no such thing. */
std::shared_ptr<const RecordTable> recordsOf(const ReceivedMad& received, const codec::SaMad& mad,
                                             size_t recordSize) {
  codec::SaTable found;
  if (!codec::findRecords(mad, received.bytes.size(), recordSize, found)) return nullptr;
  auto table = std::make_shared<RecordTable>();
  table->stride = found.stride;
  table->count = found.count;
  table->truncated = found.truncated;
  const auto begin = received.bytes.begin() + codec::kSaHeaderSize;
  const size_t wanted = found.count == 0 ? 0 : (found.count - 1) * found.stride + recordSize;
  table->bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(wanted));
  return table;
}

}  // namespace

Requester::Requester(MadTransport& transport, const Options& options, PortStats& stats)
    : transport_(transport),
      options_(options),
      stats_(stats),
      firstTransaction_(static_cast<uint32_t>(options.seed ^ (options.seed >> 32))),
      nextTransaction_(firstTransaction_) {}

void Requester::listen(OnOutcome onOutcome, OnLateSuccess onLateSuccess,
                       OnDiagnostic onDiagnostic) {
  onOutcome_ = std::move(onOutcome);
  onLateSuccess_ = std::move(onLateSuccess);
  onDiagnostic_ = std::move(onDiagnostic);
}

Duration Requester::attemptTimeout(const Query& query) const {
  if (!query.repeatable) return options_.requestTimeout;
  return std::max(options_.requestTimeout / options_.attempts, Duration{1});
}

RequestId Requester::begin(Instant now, const Query& query) {
  RequestId id = ++lastRequest_;
  if (id == kNoRequest) id = ++lastRequest_;
  Request& request = requests_[id];
  request.query = query;
  request.attemptsLeft = query.repeatable ? options_.attempts : 1;
  request.deadline = after(now, options_.requestTimeout);
  // A failed send is reported by the next run(), never from inside begin(): the caller is still
  // noting down that it has a request.
  if (send(now, request, id) != kOk) schedule(request, now);
  stats_.outstanding.set(requests_.size());
  if (requests_.size() > stats_.outstandingPeak) stats_.outstandingPeak.set(requests_.size());
  return id;
}

int Requester::send(Instant now, Request& request, RequestId id) {
  const PortState& port = transport_.port();
  uint32_t transaction = ++nextTransaction_;
  // An id that is still remembered would be taken for its predecessor.
  while (attempts_.count(transaction) != 0) transaction = ++nextTransaction_;

  codec::SaMad mad;
  mad.method = static_cast<uint8_t>(request.query.method);
  mad.attributeId = request.query.attribute();
  mad.transactionId = transaction;
  mad.componentMask = request.query.mask;
  if (request.query.raw != nullptr) {
    mad.smKey = request.query.raw->smKey;
    mad.data = request.query.raw->data;
  } else {
    McMemberRecord record = request.query.record;
    record.portGid = request.query.portGid.isZero() ? port.gid : request.query.portGid;
    codec::packMcMemberRecord(record, mad.data.data());
  }
  codec::MadBytes bytes;
  codec::packSaMad(mad, bytes);

  --request.attemptsLeft;
  request.sentAt = now;
  schedule(request, std::min(after(now, attemptTimeout(request.query)), request.deadline));
  int status = transport_.send(bytes, port.smLid, port.smSl, request.next - now);
  if (status != kOk) {
    ++stats_.sendFailures;
    // attemptsLeft -1 marks the failure for run(), which ends the request.
    request.attemptsLeft = -1;
    return status;
  }
  ++stats_.saRequests;
  ++request.unanswered;
  request.ids.push_back(transaction);
  attempts_[transaction] = Attempt{
      id,     AttemptState::kLive, request.query.method, request.query.attribute(), port.smLid,
      nullptr};
  return kOk;
}

void Requester::lastAttempt(RequestId id) {
  auto found = requests_.find(id);
  if (found == requests_.end()) return;
  found->second.unwanted = true;
  if (found->second.attemptsLeft > 0) found->second.attemptsLeft = 0;
  endIfPointless(found->second);
}

void Requester::schedule(Request& request, Instant at) {
  request.next = at;
  due_ = std::min(due_, at);
}

/** Nobody wants it, and every attempt was answered BUSY: the next run() ends it. */
void Requester::endIfPointless(Request& request) {
  if (request.unwanted && request.unanswered == 0) schedule(request, request.sentAt);
}

void Requester::disown(const Gid& mgid, const Gid& portGid, uint8_t bits) {
  // Only where a stranger's membership was found, so that looking through all of them is rare.
  for (auto& [transaction, attempt] : attempts_) {
    if (!attempt.unresolved || attempt.unresolved->record.mgid != mgid ||
        attempt.unresolved->portGid != portGid || (attempt.unresolved->bits & bits) == 0) {
      continue;
    }
    auto query = std::make_shared<Query>(*attempt.unresolved);
    query->bits = static_cast<uint8_t>(query->bits & ~bits);
    attempt.unresolved = std::move(query);
  }
}

bool Requester::abandon(Instant now, RequestId id) {
  auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  bool unresolved = found->second.unanswered > 0 || found->second.attemptsLeft < 0;
  retire(now, found->second);
  requests_.erase(found);
  stats_.outstanding.set(requests_.size());
  return unresolved;
}

void Requester::retire(Instant now, Request& request) {
  std::shared_ptr<const Query> unresolved;
  for (uint32_t transaction : request.ids) {
    auto found = attempts_.find(transaction);
    if (found == attempts_.end()) continue;
    Attempt& attempt = found->second;
    attempt.request = kNoRequest;
    if (attempt.state == AttemptState::kAnswered) {
      answered_.push_back(transaction);
      continue;
    }
    attempt.state = AttemptState::kEnded;
    if (request.query.method == codec::SaMethod::kSet && request.query.raw == nullptr) {
      if (!unresolved) unresolved = std::make_shared<Query>(request.query);
      attempt.unresolved = unresolved;
    }
    ended_.emplace_back(after(now, options_.lateReplyMemory), transaction);
  }
  while (answered_.size() > kAnsweredMemory) {
    attempts_.erase(answered_.front());
    answered_.pop_front();
  }
}

void Requester::forget(Instant now) {
  while (!ended_.empty() && ended_.front().first <= now) {
    attempts_.erase(ended_.front().second);
    ended_.pop_front();
  }
}

void Requester::report(DiagnosticKind kind, const Gid& mgid, std::optional<uint16_t> saStatus) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.mgid = mgid;
  diagnostic.saStatus = saStatus;
  onDiagnostic_(diagnostic);
}

void Requester::onMad(Instant now, const ReceivedMad& received) {
  codec::SaMad mad;
  // Only a table may be longer or shorter than a MAD.
  const bool readable = codec::unpackSaMad(received.bytes.data(), received.bytes.size(), mad) ||
                        (codec::unpackSaHeader(received.bytes.data(), received.bytes.size(), mad) &&
                         mad.method == static_cast<uint8_t>(codec::SaMethod::kGetTableResp));
  if (!readable) {
    ++stats_.malformedReplies;
    report(DiagnosticKind::kMalformedReply, Gid{}, std::nullopt);
    return;
  }
  McMemberRecord record;
  if (mad.attributeId == static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord)) {
    codec::unpackMcMemberRecord(mad.data.data(), mad.data.size(), record);
  }

  const auto transaction = static_cast<uint32_t>(mad.transactionId);
  auto found = attempts_.find(transaction);
  if (mad.managementClass == codec::kClassSubnAdm && found == attempts_.end() &&
      transaction - firstTransaction_ - 1 < nextTransaction_ - firstTransaction_) {
    // An attempt of ours that is forgotten: it took its time, or so did its duplicate.
    ++stats_.lateReplies;
    report(DiagnosticKind::kLateReply, record.mgid, mad.status);
    return;
  }
  if (mad.managementClass != codec::kClassSubnAdm || found == attempts_.end() ||
      found->second.lid != received.sourceLid) {
    ++stats_.foreignReplies;
    report(DiagnosticKind::kForeignReply, record.mgid, mad.status);
    return;
  }
  Attempt& attempt = found->second;
  if (mad.baseVersion != codec::kMadBaseVersion || mad.classVersion != codec::kSaClassVersion ||
      mad.method != static_cast<uint8_t>(responseTo(attempt.method)) ||
      mad.attributeId != attempt.attribute) {
    ++stats_.malformedReplies;
    report(DiagnosticKind::kMalformedReply, record.mgid, mad.status);
    return;
  }
  if (attempt.state == AttemptState::kAnswered) {
    ++stats_.duplicateReplies;
    report(DiagnosticKind::kDuplicateReply, record.mgid, mad.status);
    return;
  }
  // Only a success has to name the group: some subnet administrators echo nothing with an error.
  const bool success = mad.status == codec::kSaOk;
  auto namesTheGroup = [&](const Query& query) {
    return query.assignsMgid() ? !record.mgid.isZero() : record.mgid == query.record.mgid;
  };

  if (attempt.state == AttemptState::kEnded) {
    if (success && attempt.unresolved && !namesTheGroup(*attempt.unresolved)) {
      ++stats_.malformedReplies;
      report(DiagnosticKind::kMalformedReply, record.mgid, mad.status);
      return;
    }
    ++stats_.lateReplies;
    report(DiagnosticKind::kLateReply, record.mgid, mad.status);
    std::shared_ptr<const Query> query = std::move(attempt.unresolved);
    // It stays in the list of ended attempts, which forgets it in time.
    attempt.unresolved = nullptr;
    attempt.state = AttemptState::kAnswered;
    if (!success || !query) return;
    // The MGID that a former subnet manager assigned may be somebody else's with the present one.
    if (query->assignsMgid() && attempt.lid != transport_.port().smLid) return;
    onLateSuccess_(*query, record);
    return;
  }

  RequestId id = attempt.request;
  Request& request = requests_.at(id);
  if (success && request.query.raw == nullptr && !namesTheGroup(request.query)) {
    ++stats_.malformedReplies;
    report(DiagnosticKind::kMalformedReply, record.mgid, mad.status);
    return;
  }
  attempt.state = AttemptState::kAnswered;
  --request.unanswered;
  if (mad.status == codec::kSaBusy) {
    request.everBusy = true;
    if (!request.query.repeatable && !request.unwanted) {
      // BUSY says that nothing was executed, so even this Set may be sent again.
      request.attemptsLeft = 1;
      schedule(request, std::min(after(request.sentAt, options_.requestTimeout / options_.attempts),
                                 request.deadline));
    }
    endIfPointless(request);
    return;
  }
  Outcome outcome;
  outcome.kind = Outcome::Kind::kAnswered;
  outcome.saStatus = mad.status;
  if (success && request.query.raw == nullptr) outcome.record = record;
  if (success && request.query.raw != nullptr) {
    outcome.table = recordsOf(received, mad, request.query.raw->recordSize);
    if (outcome.table == nullptr) {
      ++stats_.malformedReplies;
      report(DiagnosticKind::kMalformedReply, Gid{}, mad.status);
      outcome.kind = Outcome::Kind::kMalformed;
    }
  }
  outcome.unresolved = request.unanswered > 0;
  finish(now, id, outcome);
}

void Requester::finish(Instant now, RequestId id, const Outcome& outcome) {
  auto found = requests_.find(id);
  Request request = std::move(found->second);
  requests_.erase(found);
  retire(now, request);
  stats_.outstanding.set(requests_.size());
  onOutcome_(id, request.query, outcome);
}

void Requester::run(Instant now) {
  forget(now);
  if (now < due_) return;
  due_ = kNever;
  std::vector<RequestId> due;
  for (auto& [id, request] : requests_) {
    if (request.next <= now) {
      due.push_back(id);
    } else {
      due_ = std::min(due_, request.next);
    }
  }
  // In the order in which they began, so that a run is reproducible.
  std::sort(due.begin(), due.end());
  for (RequestId id : due) {
    auto found = requests_.find(id);
    // An outcome handler may have abandoned it.
    if (found == requests_.end()) continue;
    Request& request = found->second;
    Outcome outcome;
    if (request.attemptsLeft < 0) {
      outcome.kind = Outcome::Kind::kSendFailed;
      outcome.unresolved = true;
      finish(now, id, outcome);
      continue;
    }
    if (request.attemptsLeft > 0 && now < request.deadline) {
      ++stats_.retries;
      if (send(now, request, id) != kOk) {
        outcome.kind = Outcome::Kind::kSendFailed;
        outcome.unresolved = true;
        finish(now, id, outcome);
      }
      continue;
    }
    ++stats_.timeouts;
    outcome.kind = Outcome::Kind::kTimedOut;
    outcome.saStatus = request.everBusy ? codec::kSaBusy : codec::kSaOk;
    outcome.unresolved = request.unanswered > 0;
    finish(now, id, outcome);
  }
}

}  // namespace rxib::sa
