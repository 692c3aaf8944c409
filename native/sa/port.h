// An opened port as an actor: commands go in by a queue from any thread, completions go out through
// sinks, and whoever drives the machine owns all state of the SA client.
#pragma once

#include <memory>

#include "core/machine.h"
#include "core/mad_transport.h"
#include "core/queued_engine.h"
#include "sa/client.h"
#include "sa/options.h"

namespace rxib::sa {

class Port final : public Machine, public QueuedEngine {
 public:
  Port(std::unique_ptr<MadTransport> transport, const Options& options);
  ~Port() override;

  /** Before the first run; `waker` outlives the port. */
  void start(Waker& waker);
  /** Once the driver no longer runs the machine: requests outstanding are dropped. Idempotent. */
  void stop();

  // From any thread.

  bool ask(HandleId id, const AskSpec& spec, CompletionSink* sink) override;
  std::optional<McMemberRecord> memberRecord(const Gid& mgid) const override;
  bool removed() const { return client_.removed(); }
  void leaveStale() override;

  Instant run(Instant now) override;

 private:
  void wakeEngine() override;
  void execute(Instant now, Command& command);
  Instant handOver(Instant now);

  const Duration handOverDelay_;
  std::unique_ptr<MadTransport> transport_;
  Client client_;
  Waker* waker_ = nullptr;
  // Completions wait in the sinks: so many at the last look, the oldest since.
  size_t heldBack_ = 0;
  Instant waitingSince_{};
  Instant lastAnswer_ = Instant::min();
  bool atOnce_ = false;
};

}  // namespace rxib::sa
