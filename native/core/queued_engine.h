// The half of an engine that other threads see: commands go in by a queue, whoever runs the engine
// takes them out, and those who wait are told when all is done.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/engine.h"

namespace rxib {

class QueuedEngine : public Engine {
 public:
  void attach(std::shared_ptr<CompletionSink> sink) override;
  void detach(const std::shared_ptr<CompletionSink>& sink) override;
  void join(HandleId id, const JoinSpec& spec, CompletionSink* sink) override;
  void free(HandleId id) override;
  void flush() override;
  void leaveAll() override;
  PortStats stats() const override { return stats_; }
  PortState state() const override;
  bool unsettled() const override;
  bool waitSettled(Duration limit) const override;

 protected:
  struct Command {
    enum class Kind : uint8_t { kAttach, kDetach, kJoin, kAsk, kFree, kLeaveStale, kLeaveAll };
    explicit Command(Kind commandKind) : kind(commandKind) {}
    Kind kind;
    HandleId id = 0;
    CompletionSink* sink = nullptr;
    std::unique_ptr<JoinSpec> spec;
    std::unique_ptr<AskSpec> question;
    std::shared_ptr<CompletionSink> owned;
  };

  /**
   * @param gather So many joins, asks and frees wait for a flush() at most; the last of them does
   * not. Fewer wait behind a flush(), since the engine may have nothing to do yet.
   */
  explicit QueuedEngine(int gather) : gather_(gather), patience_(std::min(gather, kFirst)) {}

  void push(Command command);
  /** Has the engine run soon. From any thread, with no lock held. */
  virtual void wakeEngine() = 0;
  /** Nobody waits any longer. */
  void endWaiting();

  // By whoever runs the engine.

  std::vector<Command> takeCommands();
  /** A run is over. `busy`: what was taken is not all done. Tells when all has come to rest. */
  void endRun(bool busy, const PortState& state);
  /** A kFree of a handle that its sink's detach, for one, has freed before: it is counted already.
   */
  void freedBefore();

  PortStats stats_;
  std::vector<std::shared_ptr<CompletionSink>> sinks_;  // of whoever runs the engine
  PortState state_;                                     // guarded by mutex_ from the first run on

 private:
  static constexpr int kFirst = 8;

  const int gather_;
  mutable std::mutex mutex_;
  mutable std::condition_variable settled_;
  std::vector<Command> commands_;
  int patience_;        // how many of them gather until the next wake
  int gathered_ = 0;    // of them, since the last wake
  size_t leaving_ = 0;  // of them, those that may have something leave
  bool busy_ = false;   // as of the last run
  bool over_ = false;
};

}  // namespace rxib
