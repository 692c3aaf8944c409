#include "sa/asker.h"

#include <algorithm>
#include <utility>

namespace rxib::sa {
namespace {

// What could not be renewed is tried again after so long.
constexpr Duration kRenewalRetry = std::chrono::seconds{1};
// A subscription whose renewal has been refused for so long is given up. Not at once, since a new
// subnet manager may refuse ports that it does not know yet.
constexpr Duration kRefusalPatience = std::chrono::seconds{30};

}  // namespace

Asker::Asker(Requester& requester, const Options& options, PortStats& stats,
             OnDiagnostic onDiagnostic)
    : requester_(requester),
      options_(options),
      stats_(stats),
      onDiagnostic_(std::move(onDiagnostic)),
      random_(options.seed ^ 0x5ce5ce5ce5ce5ceull) {}

void Asker::ask(Instant, HandleId id, const AskSpec& spec, CompletionSink* sink, int refusal) {
  auto made = std::make_unique<Ask>();
  Ask& ask = *made;
  ask.id = id;
  ask.spec = spec;
  ask.sink = sink;
  asks_.emplace(id, std::move(made));
  if (refusal != kOk) {
    fail(ask, refusal, std::nullopt);
  } else {
    queue(ask, Ask::Work::kMake);
  }
}

bool Asker::free(Instant now, HandleId id) {
  auto found = asks_.find(id);
  if (found == asks_.end() || found->second->sink == nullptr) return false;
  Ask& ask = *found->second;
  ask.sink = nullptr;
  ++freed_;
  if (ask.spec.undo == nullptr) {
    abandon(now, ask);
    erase(ask);
    return true;
  }
  checkAt(ask, kNever);
  if (ask.request != kNoRequest && ask.work != Ask::Work::kProbe) {
    // It may well be granted; what is granted is taken back when the answer is there.
    requester_.lastAttempt(ask.request);
    ask.state = Ask::State::kUndoing;
    return true;
  }
  abandon(now, ask);
  if (ask.mayStand) {
    undo(ask);
  } else {
    erase(ask);
  }
  return true;
}

std::vector<HandleId> Asker::handlesOf(const CompletionSink* sink) const {
  std::vector<HandleId> ids;
  for (const auto& [id, ask] : asks_) {
    if (ask->sink == sink) ids.push_back(id);
  }
  return ids;
}

void Asker::queue(Ask& ask, Ask::Work work) {
  ask.work = work;
  if (ask.inLine) return;
  ask.inLine = true;
  ask.place = line_.insert(line_.end(), &ask);
}

void Asker::dequeue(Ask& ask) {
  if (!ask.inLine) return;
  ask.inLine = false;
  line_.erase(ask.place);
}

void Asker::checkAt(Ask& ask, Instant when) {
  if (ask.check != kNever) checks_.erase({ask.check, ask.id});
  ask.check = when;
  if (when != kNever) checks_.emplace(when, ask.id);
}

void Asker::erase(Ask& ask) {
  dequeue(ask);
  checkAt(ask, kNever);
  if (ask.sink == nullptr) --freed_;
  asks_.erase(ask.id);
}

/** Takes back what may stand, unless another handle wants the very same to stay. */
void Asker::undo(Ask& ask) {
  for (const auto& [id, other] : asks_) {
    if (other.get() == &ask || other->sink == nullptr || other->state == Ask::State::kOver ||
        !sameThing(*other, ask)) {
      continue;
    }
    // It is the other's from now on, should that end before it has asked for it itself.
    other->mayStand = true;
    erase(ask);
    return;
  }
  ask.state = Ask::State::kUndoing;
  queue(ask, Ask::Work::kUndo);
}

bool Asker::sameThing(const Ask& a, const Ask& b) const {
  const SaRequest* mine = a.spec.undo.get();
  const SaRequest* other = b.spec.undo.get();
  return mine != nullptr && other != nullptr && mine->attribute == other->attribute &&
         mine->data == other->data;
}

/** Making and taking back the same thing must not overtake each other. */
bool Asker::blocked(const Ask& ask) const {
  if (ask.spec.undo == nullptr) return false;
  return std::any_of(requests_.begin(), requests_.end(), [&](const auto& entry) {
    return entry.second != &ask && sameThing(*entry.second, ask);
  });
}

void Asker::abandon(Instant now, Ask& ask) {
  dequeue(ask);
  if (ask.request != kNoRequest) {
    requester_.abandon(now, ask.request);
    requests_.erase(ask.request);
    ask.request = kNoRequest;
  }
  ask.work = Ask::Work::kNone;
}

Asker::Ask* Asker::firstInLine() const {
  for (Ask* ask : line_) {
    if (!blocked(*ask)) return ask;
  }
  return nullptr;
}

void Asker::sendNext(Instant now) {
  Ask& ask = *firstInLine();
  dequeue(ask);
  Query query;
  switch (ask.work) {
    case Ask::Work::kProbe:
      query.raw = ask.spec.probe;
      break;
    case Ask::Work::kUndo:
      query.raw = ask.spec.undo;
      ++stats_.leavesSent;
      break;
    default:
      query.raw = ask.spec.make;
      ask.mayStand = true;
      break;
  }
  query.method = query.raw->method;
  query.mask = query.raw->mask;
  ask.request = requester_.begin(now, query);
  requests_[ask.request] = &ask;
}

void Asker::onOutcome(Instant now, RequestId id, const Outcome& outcome) {
  Ask& ask = *requests_.at(id);
  requests_.erase(id);
  ask.request = kNoRequest;
  const Ask::Work work = std::exchange(ask.work, Ask::Work::kNone);
  if (work == Ask::Work::kUndo) {
    onUndone(now, ask, outcome);
  } else if (ask.sink == nullptr) {
    // Freed while it was being made.
    const bool refused = outcome.kind == Outcome::Kind::kAnswered && outcome.saStatus != 0 &&
                         !outcome.unresolved && !ask.stood;
    if (refused) {
      erase(ask);
    } else {
      undo(ask);
    }
  } else if (work == Ask::Work::kMake) {
    onMade(now, ask, outcome);
  } else {
    if (work == Ask::Work::kProbe && outcome.kind == Outcome::Kind::kAnswered &&
        outcome.saStatus == codec::kSaOk && ask.renewAt <= now) {
      queue(ask, Ask::Work::kRenew);
      return;
    }
    if (work == Ask::Work::kRenew && outcome.kind == Outcome::Kind::kAnswered &&
        outcome.saStatus == codec::kSaOk) {
      if (std::exchange(ask.interrupted, false)) complete(ask, Completion{}, false);
      stand(now, ask);
      return;
    }
    onChecked(now, ask, outcome);
  }
}

void Asker::onMade(Instant now, Ask& ask, const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kTimedOut:
      fail(ask, kETIMEDOUT,
           outcome.saStatus == 0 ? std::nullopt : std::optional<uint16_t>(outcome.saStatus));
      return;
    case Outcome::Kind::kSendFailed:
      fail(ask, kEIO, std::nullopt);
      return;
    case Outcome::Kind::kMalformed:
      fail(ask, kEPROTO, outcome.saStatus);
      return;
    case Outcome::Kind::kAnswered:
      break;
  }
  if (outcome.saStatus != codec::kSaOk) {
    // The refusal speaks for one attempt only.
    ask.mayStand = outcome.unresolved;
    fail(ask, kEINVAL, outcome.saStatus);
    return;
  }
  const bool standing = ask.spec.undo != nullptr;
  Completion completion;
  completion.table = outcome.table;
  complete(ask, std::move(completion), !standing);
  if (standing) stand(now, ask);
}

/** It stands, as of now. */
void Asker::stand(Instant now, Ask& ask) {
  ask.state = Ask::State::kStanding;
  ask.stood = true;
  ask.refusedSince = kNever;
  ask.leaseEnds = after(now, ask.spec.lease);
  ask.renewAt = ask.spec.lease == Duration::max() ? kNever : after(now, ask.spec.lease / 2);
  scheduleCheck(now, ask);
}

void Asker::scheduleCheck(Instant now, Ask& ask) {
  Instant check = kNever;
  // Subscriptions can't be looked at; one made anew is the same one where it stands already.
  const bool checked = ask.spec.probe != nullptr || ask.spec.trap != 0;
  if (checked && options_.auditInterval != Duration{0}) {
    std::uniform_real_distribution<double> jitter(0.8, 1.2);
    const auto pause =
        std::chrono::duration_cast<Duration>(options_.auditInterval * jitter(random_));
    check = after(now, std::max(pause, Duration{1}));
  }
  checkAt(ask, std::min(check, ask.renewAt));
}

/** It could not be seen or renewed. Silence, BUSY and refusals prove nothing before its lease ends.
 */
void Asker::onChecked(Instant now, Ask& ask, const Outcome& outcome) {
  const bool answered = outcome.kind == Outcome::Kind::kAnswered;
  if (ask.spec.trap != 0) {
    // Its Set was not granted, by whatever status; a loss would have it waited for in vain.
    if (!answered) ask.refusedSince = kNever;
    if (answered && ask.refusedSince == kNever) ask.refusedSince = now;
    if (answered && now - ask.refusedSince >= kRefusalPatience) {
      fail(ask, kEINVAL, outcome.saStatus);
    } else {
      checkAt(ask, after(now, kRenewalRetry));
    }
  } else if (answered && outcome.saStatus == codec::kSaNoRecords) {
    ask.mayStand = false;
    lose(ask, ResetReason::kMembershipLost);
  } else if (now >= ask.leaseEnds) {
    lose(ask, ResetReason::kMembershipLost);
  } else if (answered && outcome.saStatus == codec::kSaOk) {
    scheduleCheck(now, ask);
  } else {
    checkAt(ask, std::min(after(now, kRenewalRetry), ask.leaseEnds));
  }
}

void Asker::onUndone(Instant, Ask& ask, const Outcome& outcome) {
  const bool answered = outcome.kind == Outcome::Kind::kAnswered;
  const bool gone =
      answered && (outcome.saStatus == codec::kSaOk || outcome.saStatus == codec::kSaNoRecords ||
                   outcome.saStatus == codec::kSaReqInvalid);
  if (!gone && ask.failures++ < options_.leaveRetries) {
    undo(ask);
    return;
  }
  if (!gone) {
    ++stats_.leavesFailed;
    Diagnostic diagnostic;
    diagnostic.kind = DiagnosticKind::kLeaveFailed;
    diagnostic.status = answered                                   ? kEINVAL
                        : outcome.kind == Outcome::Kind::kTimedOut ? kETIMEDOUT
                                                                   : kEIO;
    if (outcome.saStatus != 0) diagnostic.saStatus = outcome.saStatus;
    onDiagnostic_(diagnostic);
  }
  erase(ask);
}

bool Asker::wantsReports() const {
  return std::any_of(asks_.begin(), asks_.end(),
                     [](const auto& entry) { return entry.second->spec.trap != 0; });
}

void Asker::onNotice(uint16_t trap, const RecordTable& notice) {
  std::vector<HandleId> concerned;
  for (const auto& [id, ask] : asks_) {
    if (ask->sink == nullptr || ask->spec.trap != trap) continue;
    if (ask->state == Ask::State::kStanding && !ask->interrupted) concerned.push_back(id);
  }
  std::sort(concerned.begin(), concerned.end());
  for (HandleId id : concerned) {
    Completion completion;
    completion.table = std::make_shared<RecordTable>(notice);
    complete(*asks_.at(id), std::move(completion), false);
  }
}

void Asker::complete(Ask& ask, Completion completion, bool over) {
  completion.handle = ask.id;
  if (over) ask.state = Ask::State::kOver;
  ask.sink->complete(std::move(completion));
}

void Asker::fail(Ask& ask, int status, std::optional<uint16_t> saStatus) {
  Completion completion;
  completion.status = status;
  completion.saStatus = saStatus;
  complete(ask, std::move(completion), true);
}

void Asker::lose(Ask& ask, ResetReason reason) {
  checkAt(ask, kNever);
  Completion completion;
  completion.status = kENETRESET;
  completion.reason = reason;
  ++stats_.resets;
  complete(ask, std::move(completion), true);
}

/** A subscription outlives resets: it is made anew as soon and as often as it takes. */
void Asker::interrupt(Ask& ask, ResetReason reason) {
  checkAt(ask, kNever);
  ask.refusedSince = kNever;
  queue(ask, Ask::Work::kRenew);
  if (std::exchange(ask.interrupted, true)) return;
  Completion completion;
  completion.status = kENETRESET;
  completion.reason = reason;
  ++stats_.resets;
  complete(ask, std::move(completion), false);
}

void Asker::reset(Instant now, ResetReason reason, int refusal) {
  std::vector<HandleId> ids;
  for (const auto& [id, ask] : asks_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (HandleId id : ids) {
    Ask& ask = *asks_.at(id);
    const Ask::Work work = ask.work;
    switch (ask.state) {
      case Ask::State::kMaking:
        // As for a join: asked again, of whoever is in charge now.
        if (ask.request == kNoRequest) break;
        abandon(now, ask);
        queue(ask, work);
        break;
      case Ask::State::kStanding:
        abandon(now, ask);
        if (ask.spec.trap != 0 && refusal != kENODEV) {
          interrupt(ask, reason);
        } else {
          lose(ask, reason);
        }
        break;
      case Ask::State::kUndoing:
        if (refusal == kENODEV) {
          abandon(now, ask);
          erase(ask);
        } else if (ask.request != kNoRequest) {
          abandon(now, ask);
          undo(ask);
        }
        break;
      case Ask::State::kOver:
        break;
    }
  }
  if (refusal != kOk) refuseAll(refusal);
}

void Asker::refuseAll(int status) {
  std::vector<HandleId> ids;
  for (const Ask* ask : line_) {
    if (ask->state == Ask::State::kMaking) ids.push_back(ask->id);
  }
  for (HandleId id : ids) {
    Ask& ask = *asks_.at(id);
    dequeue(ask);
    ask.work = Ask::Work::kNone;
    fail(ask, status, std::nullopt);
  }
}

void Asker::run(Instant now) {
  while (!checks_.empty() && checks_.begin()->first <= now) {
    Ask& ask = *asks_.at(checks_.begin()->second);
    checkAt(ask, kNever);
    const bool probe = ask.spec.probe != nullptr && options_.auditInterval != Duration{0};
    if (now >= ask.leaseEnds) {
      lose(ask, ResetReason::kMembershipLost);
    } else {
      queue(ask, probe ? Ask::Work::kProbe : Ask::Work::kRenew);
    }
  }
}

Instant Asker::nextDeadline() const { return checks_.empty() ? kNever : checks_.begin()->first; }

}  // namespace rxib::sa
