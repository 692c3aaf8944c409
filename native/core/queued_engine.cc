#include "core/queued_engine.h"

#include <utility>

namespace rxib {

void QueuedEngine::push(Command command) {
  const Command::Kind kind = command.kind;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // First: a call for which there is no memory has not been made.
    commands_.push_back(std::move(command));
    const bool begins = kind == Command::Kind::kJoin || kind == Command::Kind::kAsk;
    if (begins) {
      // Counted here and not when executed, so that a caller sees its own calls at once.
      ++stats_.joinsStarted;
      ++stats_.handlesAlive;
    } else if (kind == Command::Kind::kFree) {
      ++stats_.handlesFreed;
      --stats_.handlesAlive;
    }
    if (!begins && kind != Command::Kind::kAttach) ++leaving_;
    const bool patient = begins || kind == Command::Kind::kFree;
    // Waking a thread costs more than what one join has it do.
    if (patient && ++gathered_ < patience_) return;
    if (patient) patience_ = std::min(2 * patience_, gather_);
    gathered_ = 0;
  }
  wakeEngine();
}

void QueuedEngine::flush() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    patience_ = std::min(gather_, kFirst);
    if (gathered_ == 0) return;
    gathered_ = 0;
  }
  wakeEngine();
}

void QueuedEngine::attach(std::shared_ptr<CompletionSink> sink) {
  Command command{Command::Kind::kAttach};
  command.owned = std::move(sink);
  push(std::move(command));
}

void QueuedEngine::detach(const std::shared_ptr<CompletionSink>& sink) {
  Command command{Command::Kind::kDetach};
  command.owned = sink;
  push(std::move(command));
}

void QueuedEngine::join(HandleId id, const JoinSpec& spec, CompletionSink* sink) {
  Command command{Command::Kind::kJoin};
  command.id = id;
  command.sink = sink;
  command.spec = std::make_unique<JoinSpec>(spec);
  push(std::move(command));
}

void QueuedEngine::free(HandleId id) {
  Command command{Command::Kind::kFree};
  command.id = id;
  push(std::move(command));
}

void QueuedEngine::leaveAll() { push(Command{Command::Kind::kLeaveAll}); }

PortState QueuedEngine::state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

bool QueuedEngine::unsettled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return busy_ || leaving_ > 0;
}

bool QueuedEngine::waitSettled(Duration limit) const {
  std::unique_lock<std::mutex> lock(mutex_);
  auto settled = [this] { return !busy_ && leaving_ == 0; };
  settled_.wait_for(lock, limit, [&] { return over_ || settled(); });
  return settled();
}

void QueuedEngine::endWaiting() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  settled_.notify_all();
}

std::vector<QueuedEngine::Command> QueuedEngine::takeCommands() {
  std::vector<Command> commands;
  std::lock_guard<std::mutex> lock(mutex_);
  commands.swap(commands_);
  // Until they are executed, nobody may believe that they have been.
  if (std::exchange(leaving_, size_t{0}) > 0) busy_ = true;
  return commands;
}

void QueuedEngine::endRun(bool busy, const PortState& state) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool wasBusy = std::exchange(busy_, busy);
    state_ = state;
    if (!wasBusy || busy || leaving_ > 0) return;
  }
  settled_.notify_all();
  for (const auto& sink : sinks_) sink->settled();
}

void QueuedEngine::freedBefore() {
  --stats_.handlesFreed;
  ++stats_.handlesAlive;
}

}  // namespace rxib
