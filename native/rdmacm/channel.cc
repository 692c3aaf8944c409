#include "rdmacm/channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/status.h"

namespace rxib::rdmacm {

Channel::Opened Channel::open(Options options) {
  System system;
  Verdict verdict = thisSystem(system);
  if (verdict.status != kOk) return {nullptr, std::move(verdict)};
  return open(std::move(system), std::move(options));
}

Channel::Opened Channel::open(System system, Options options) {
  std::unique_ptr<Channel> channel(new Channel(std::move(system), std::move(options)));
  if (channel->wakeFd_ < 0) return {nullptr, channelFailure(errno)};
  Verdict verdict = channel->client_.open();
  if (verdict.status != kOk) return {nullptr, std::move(verdict)};
  channel->state_ = channel->client_.state();
  channel->thread_ = std::thread([raw = channel.get()] { raw->loop(); });
  return {std::move(channel), {}};
}

Channel::Channel(System system, Options options)
    : client_(std::move(system), std::move(options), stats_),
      wakeFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Channel::~Channel() {
  stop();
  if (wakeFd_ >= 0) close(wakeFd_);
}

void Channel::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  settled_.notify_all();
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

void Channel::wake() {
  const uint64_t one = 1;
  // A full counter is readable as well, which is all that matters.
  [[maybe_unused]] ssize_t written = write(wakeFd_, &one, sizeof one);
}

void Channel::push(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (command.kind == Command::Kind::kJoin) {
      // Counted here and not when executed, so that a caller sees its own calls at once.
      ++stats_.joinsStarted;
      ++stats_.handlesAlive;
    } else if (command.kind == Command::Kind::kFree) {
      ++stats_.handlesFreed;
      --stats_.handlesAlive;
    }
    commands_.push_back(std::move(command));
  }
  wake();
}

void Channel::attach(std::shared_ptr<CompletionSink> sink) {
  push({Command::Kind::kAttach, 0, nullptr, nullptr, std::move(sink)});
}

void Channel::detach(const std::shared_ptr<CompletionSink>& sink) {
  push({Command::Kind::kDetach, 0, nullptr, nullptr, sink});
}

void Channel::join(HandleId id, const JoinSpec& spec, CompletionSink* sink) {
  push({Command::Kind::kJoin, id, sink, std::make_unique<JoinSpec>(spec), nullptr});
}

void Channel::free(HandleId id) { push({Command::Kind::kFree, id, nullptr, nullptr, nullptr}); }

void Channel::leaveAll() { push({Command::Kind::kLeaveAll, 0, nullptr, nullptr, nullptr}); }

PortState Channel::state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

bool Channel::removed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return removed_;
}

bool Channel::unsettled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return busy_ || !commands_.empty();
}

bool Channel::waitSettled(Duration limit) const {
  std::unique_lock<std::mutex> lock(mutex_);
  auto settled = [this] { return !busy_ && commands_.empty(); };
  settled_.wait_for(lock, limit, [&] { return stopping_ || settled(); });
  return settled();
}

void Channel::execute(Command& command) {
  switch (command.kind) {
    case Command::Kind::kAttach:
      client_.attach(command.owned.get());
      sinks_.push_back(std::move(command.owned));
      break;
    case Command::Kind::kDetach:
      client_.detach(command.owned.get());
      sinks_.erase(std::remove(sinks_.begin(), sinks_.end(), command.owned), sinks_.end());
      break;
    case Command::Kind::kJoin:
      client_.join(command.id, *command.spec, command.sink);
      break;
    case Command::Kind::kFree:
      if (client_.free(command.id)) break;
      // Freed before, by its sink's detach for one: push() has counted it a second time.
      --stats_.handlesFreed;
      ++stats_.handlesAlive;
      break;
    case Command::Kind::kLeaveAll:
      for (const auto& sink : sinks_) client_.detach(sink.get());
      sinks_.clear();
      break;
  }
}

void Channel::loop() {
  client_.watch(*this);
  for (;;) {
    std::vector<Command> commands;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) break;
      commands.swap(commands_);
      // Until the commands are executed, nobody may believe that they have been.
      busy_ = !commands.empty();
    }
    client_.takeEvents();
    client_.takePortReports();
    for (Command& command : commands) execute(command);
    for (const auto& sink : sinks_) sink->handOver();
    bool nowSettled = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      // A leave is over when the kernel's call has returned.
      nowSettled = busy_ && commands_.empty();
      busy_ = false;
      state_ = client_.state();
      removed_ = client_.removed();
    }
    if (nowSettled) {
      settled_.notify_all();
      for (const auto& sink : sinks_) sink->settled();
    }
    pollfd fds[2] = {{wakeFd_, POLLIN, 0}, {client_.fd(), POLLIN, 0}};
    if (poll(fds, 2, -1) > 0 && fds[0].revents != 0) {
      uint64_t count;
      [[maybe_unused]] ssize_t got = read(wakeFd_, &count, sizeof count);
    }
  }
  // Here, so that nothing wakes this actor any more when it is destroyed.
  client_.close();
}

}  // namespace rxib::rdmacm
