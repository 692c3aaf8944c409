// The connection manager's client as an actor, on an I/O thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/engine.h"
#include "core/machine.h"
#include "rdmacm/client.h"

namespace rxib::rdmacm {

class Channel final : public Engine, private Waker {
 public:
  struct Opened {
    std::unique_ptr<Channel> channel;
    Verdict verdict;
  };
  /**
   * kENOENT: a library is missing. kENODEV: no such port, or no kernel module. kEACCES: no
   * permission. The port need not be active, nor have an address yet.
   */
  static Opened open(System system, Options options);
  /** On this machine. */
  static Opened open(Options options);

  ~Channel() override;
  /** Ends the thread, which leaves what is still joined; nobody is told. Idempotent. */
  void stop();
  /** The device is gone for good; another channel may find it again. */
  bool removed() const;

  void attach(std::shared_ptr<CompletionSink> sink) override;
  void detach(const std::shared_ptr<CompletionSink>& sink) override;
  void join(HandleId id, const JoinSpec& spec, CompletionSink* sink) override;
  void free(HandleId id) override;
  void leaveAll() override;
  PortStats stats() const override { return stats_; }
  PortState state() const override;
  bool unsettled() const override;
  bool waitSettled(Duration limit) const override;

 private:
  struct Command {
    enum class Kind : uint8_t { kAttach, kDetach, kJoin, kFree, kLeaveAll };
    Kind kind;
    HandleId id = 0;
    CompletionSink* sink = nullptr;
    std::unique_ptr<JoinSpec> spec;
    std::shared_ptr<CompletionSink> owned;
  };

  Channel(System system, Options options);
  void push(Command command);
  void wake() override;
  void loop();
  void execute(Command& command);

  PortStats stats_;
  Client client_;
  int wakeFd_ = -1;
  std::vector<std::shared_ptr<CompletionSink>> sinks_;  // the thread's

  mutable std::mutex mutex_;
  mutable std::condition_variable settled_;
  std::vector<Command> commands_;
  bool busy_ = false;
  bool stopping_ = false;
  bool removed_ = false;
  PortState state_;
  std::thread thread_;
};

}  // namespace rxib::rdmacm
