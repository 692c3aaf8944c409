#include "sa/port.h"

#include <algorithm>
#include <utility>

namespace rxib::sa {
namespace {

// So many completions do not wait for more.
constexpr size_t kHandOverMost = 16;

}  // namespace

Port::Port(std::unique_ptr<MadTransport> transport, const Options& options)
    : gather_(options.gather),
      handOverDelay_(options.handOverDelay),
      transport_(std::move(transport)),
      client_(*transport_, options, stats_) {}

Port::~Port() { stop(); }

void Port::stop() {
  transport_->stop();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  settled_.notify_all();
}

void Port::start(Waker& waker) {
  waker_ = &waker;
  state_ = transport_->port();
  // Last, since from here on the transport may have the machine run.
  transport_->start(waker);
}

void Port::push(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (command.kind == Command::Kind::kJoin || command.kind == Command::Kind::kAsk) {
      // Counted here and not when executed, so that a caller sees its own calls at once.
      ++stats_.joinsStarted;
      ++stats_.handlesAlive;
    } else if (command.kind == Command::Kind::kFree) {
      ++stats_.handlesFreed;
      --stats_.handlesAlive;
    }
    const bool patient =
        command.kind == Command::Kind::kJoin || command.kind == Command::Kind::kFree;
    commands_.push_back(std::move(command));
    // Waking a thread costs more than what one join has it do.
    if (patient && ++gathered_ < gather_) return;
    gathered_ = 0;
  }
  waker_->wake();
}

void Port::flush() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (gathered_ == 0) return;
    gathered_ = 0;
  }
  waker_->wake();
}

void Port::attach(std::shared_ptr<CompletionSink> sink) {
  Command command{Command::Kind::kAttach};
  command.owned = std::move(sink);
  push(std::move(command));
}

void Port::detach(const std::shared_ptr<CompletionSink>& sink) {
  Command command{Command::Kind::kDetach};
  command.owned = sink;
  push(std::move(command));
}

void Port::join(HandleId id, const JoinSpec& spec, CompletionSink* sink) {
  Command command{Command::Kind::kJoin};
  command.id = id;
  command.sink = sink;
  command.spec = std::make_unique<JoinSpec>(spec);
  push(std::move(command));
}

bool Port::ask(HandleId id, const AskSpec& spec, CompletionSink* sink) {
  Command command{Command::Kind::kAsk};
  command.id = id;
  command.sink = sink;
  command.question = std::make_unique<AskSpec>(spec);
  push(std::move(command));
  return true;
}

std::optional<McMemberRecord> Port::memberRecord(const Gid& mgid) const {
  return client_.memberRecord(mgid);
}

void Port::free(HandleId id) {
  Command command{Command::Kind::kFree};
  command.id = id;
  push(std::move(command));
}

void Port::leaveAll() { push(Command{Command::Kind::kLeaveAll}); }

PortStats Port::stats() const { return stats_; }

PortState Port::state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

bool Port::unsettled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return busy_ || !commands_.empty();
}

bool Port::waitSettled(Duration limit) const {
  std::unique_lock<std::mutex> lock(mutex_);
  auto settled = [this] { return !busy_ && commands_.empty(); };
  settled_.wait_for(lock, limit, [&] { return stopped_ || settled(); });
  return settled();
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
      if (client_.free(now, command.id)) break;
      // Freed before, by its sink's detach for one: push() has counted it a second time.
      --stats_.handlesFreed;
      ++stats_.handlesAlive;
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
  if (waiting == 0) return kNever;
  if (waitingSince_ == kNever) waitingSince_ = now;
  const Instant limit = after(waitingSince_, handOverDelay_);
  if (now < limit && waiting < kHandOverMost && client_.expectsAnswers()) return limit;
  for (const auto& sink : sinks_) sink->handOver();
  waitingSince_ = kNever;
  return kNever;
}

Instant Port::run(Instant now) {
  std::vector<Command> commands;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    commands.swap(commands_);
    // Until the commands are executed, nobody may believe that they have been.
    if (!commands.empty()) busy_ = true;
  }
  for (Command& command : commands) execute(now, command);
  Instant next = client_.run(now);
  next = std::min(next, handOver(now));
  bool nowSettled = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool busy = client_.unsettled();
    nowSettled = busy_ && !busy && commands_.empty();
    busy_ = busy;
    state_ = transport_->port();
  }
  if (nowSettled) {
    settled_.notify_all();
    for (const auto& sink : sinks_) sink->settled();
  }
  return next;
}

}  // namespace rxib::sa
