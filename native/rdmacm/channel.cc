#include "rdmacm/channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

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
    : QueuedEngine(1),
      client_(std::move(system), std::move(options), stats_),
      wakeFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Channel::~Channel() {
  stop();
  if (wakeFd_ >= 0) close(wakeFd_);
}

void Channel::stop() {
  stopping_ = true;
  endWaiting();
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

void Channel::wake() {
  const uint64_t one = 1;
  // A full counter is readable as well, which is all that matters.
  [[maybe_unused]] ssize_t written = write(wakeFd_, &one, sizeof one);
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
      if (!client_.free(command.id)) freedBefore();
      break;
    case Command::Kind::kAsk:
    case Command::Kind::kLeaveStale:
      // There is nobody to ask, and ask() has said so.
      break;
    case Command::Kind::kLeaveAll:
      for (const auto& sink : sinks_) client_.detach(sink.get());
      sinks_.clear();
      break;
  }
}

void Channel::loop() {
  client_.watch(*this);
  while (!stopping_) {
    std::vector<Command> commands = takeCommands();
    client_.takeEvents();
    client_.takePortReports();
    for (Command& command : commands) execute(command);
    for (const auto& sink : sinks_) sink->handOver();
    // A leave is over when the kernel's call has returned.
    endRun(false, client_.state());
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
