// An opened port as an actor: commands go in by a queue from any thread, completions go out through
// sinks, and whoever drives the machine owns all state of the SA client.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/completion.h"
#include "core/engine.h"
#include "core/machine.h"
#include "core/mad_transport.h"
#include "sa/client.h"
#include "sa/options.h"

namespace rxib::sa {

class Port final : public Machine, public Engine {
 public:
  Port(std::unique_ptr<MadTransport> transport, const Options& options);
  ~Port() override;

  /** Before the first run; `waker` outlives the port. */
  void start(Waker& waker);
  /** Once the driver no longer runs the machine: requests outstanding are dropped. Idempotent. */
  void stop();

  // From any thread.

  void attach(std::shared_ptr<CompletionSink> sink) override;
  void detach(const std::shared_ptr<CompletionSink>& sink) override;
  void join(HandleId id, const JoinSpec& spec, CompletionSink* sink) override;
  bool ask(HandleId id, const AskSpec& spec, CompletionSink* sink) override;
  std::optional<McMemberRecord> memberRecord(const Gid& mgid) const override;
  void free(HandleId id) override;
  void flush() override;
  void leaveAll() override;

  PortStats stats() const override;
  PortState state() const override;
  bool unsettled() const override;
  bool waitSettled(Duration limit) const override;

  Instant run(Instant now) override;

 private:
  struct Command {
    enum class Kind : uint8_t { kAttach, kDetach, kJoin, kAsk, kFree, kLeaveAll };
    explicit Command(Kind commandKind) : kind(commandKind) {}
    Kind kind;
    HandleId id = 0;
    CompletionSink* sink = nullptr;
    std::unique_ptr<JoinSpec> spec;
    std::unique_ptr<AskSpec> question;
    std::shared_ptr<CompletionSink> owned;
  };

  void push(Command command);
  void execute(Instant now, Command& command);
  Instant handOver(Instant now);

  const int gather_;
  const Duration handOverDelay_;
  std::unique_ptr<MadTransport> transport_;
  PortStats stats_;
  Client client_;
  Waker* waker_ = nullptr;
  std::vector<std::shared_ptr<CompletionSink>> sinks_;  // the machine's
  Instant waitingSince_ = kNever;                       // completions wait in the sinks

  mutable std::mutex mutex_;
  mutable std::condition_variable settled_;
  std::vector<Command> commands_;
  int gathered_ = 0;   // of them, since the last wake
  bool busy_ = false;  // as of the last run
  bool stopped_ = false;
  PortState state_;
};

}  // namespace rxib::sa
