#include "sa/port.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rxib::sa {
namespace {

// So many completions do not wait for more.
constexpr size_t kHandOverMost = 64;
// With nothing in line for the window, its places are refilled by those who are told that they are
// free: as soon as so many parts of it are.
constexpr size_t kIdleParts = 4;
// When answers stop coming, completions wait so long; no less, since an alarm that is the next one
// of the whole processor costs as much as waking their reader.
constexpr auto kSilence = std::chrono::milliseconds{20};

}  // namespace

Port::Port(std::unique_ptr<MadTransport> transport, const Options& options)
    : QueuedEngine(options.gather),
      handOverDelay_(options.handOverDelay),
      transport_(std::move(transport)),
      client_(*transport_, options, stats_) {}

Port::~Port() { stop(); }

void Port::stop() {
  transport_->stop();
  endWaiting();
}

void Port::start(Waker& waker) {
  waker_ = &waker;
  state_ = transport_->port();
  // Last, since from here on the transport may have the machine run.
  transport_->start(waker);
}

void Port::wakeEngine() { waker_->wake(); }

bool Port::ask(HandleId id, const AskSpec& spec, CompletionSink* sink) {
  Command command{Command::Kind::kAsk};
  command.id = id;
  command.sink = sink;
  command.question = std::make_unique<AskSpec>(spec);
  push(std::move(command));
  return true;
}

void Port::leaveStale() { push(Command{Command::Kind::kLeaveStale}); }

std::optional<McMemberRecord> Port::memberRecord(const Gid& mgid) const {
  return client_.memberRecord(mgid);
}

void Port::execute(Instant now, Command& command) {
  switch (command.kind) {
    case Command::Kind::kAttach:
      client_.attach(command.owned.get());
      sinks_.push_back(std::move(command.owned));
      break;
    case Command::Kind::kDetach:
      command.owned->handOver();
      client_.detach(now, command.owned.get());
      sinks_.erase(std::remove(sinks_.begin(), sinks_.end(), command.owned), sinks_.end());
      // While others stay, they may be about to join again what a reset took from them.
      if (sinks_.empty()) client_.leaveStaleNow(now);
      break;
    case Command::Kind::kJoin:
      client_.join(now, command.id, std::move(command.spec), command.sink);
      break;
    case Command::Kind::kAsk:
      client_.ask(now, command.id, *command.question, command.sink);
      break;
    case Command::Kind::kFree:
      if (!client_.free(now, command.id)) freedBefore();
      break;
    case Command::Kind::kLeaveStale:
      if (sinks_.size() <= 1) client_.leaveStaleNow(now);
      break;
    case Command::Kind::kLeaveAll:
      for (const auto& sink : sinks_) client_.detach(now, sink.get());
      sinks_.clear();
      client_.leaveStaleNow(now);
      break;
  }
}

/** Hands completions over, unless more are about to come; then says until when that is put off. */
Instant Port::handOver(Instant now) {
  size_t waiting = 0;
  for (const auto& sink : sinks_) waiting += sink->waiting();
  if (waiting > heldBack_) {
    // Answers that are far apart are handed over one by one.
    atOnce_ = now >= after(lastAnswer_, handOverDelay_);
    lastAnswer_ = now;
    if (heldBack_ == 0) waitingSince_ = now;
  }
  heldBack_ = waiting;
  if (waiting == 0) return kNever;
  const size_t outstanding = client_.outstanding();
  const size_t most = client_.hasLine() ? kHandOverMost : (waiting + outstanding) / kIdleParts;
  if (!atOnce_ && outstanding > 0 && waiting < most && now < after(waitingSince_, handOverDelay_)) {
    return after(lastAnswer_, kSilence);
  }
  for (const auto& sink : sinks_) sink->handOver();
  heldBack_ = 0;
  return kNever;
}

Instant Port::run(Instant now) {
  std::vector<Command> commands = takeCommands();
  for (Command& command : commands) execute(now, command);
  Instant next = client_.run(now);
  next = std::min(next, handOver(now));
  endRun(client_.unsettled(), transport_->port());
  return next;
}

}  // namespace rxib::sa
