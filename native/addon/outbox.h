// The way from the engines' threads to one JavaScript environment.
#pragma once

#include <napi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/completion.h"

namespace rxib::addon {

class Environment;

/**
 * Collects completions and wakes the environment's loop, at most one wake under way at a time. Any
 * engine thread may call it; after close() it swallows everything.
 */
class Outbox final {
 public:
  /** A diagnostic, and the number that its port has in this environment. */
  struct Note {
    uint32_t port = 0;
    Diagnostic diagnostic;
  };

  void open(Napi::Env env, Environment& environment);
  /** The environment ends: from now on no call reaches it. On its own thread. */
  void close();

  // On an engine's thread.

  /** It lies there until the loop is woken, by handOver() or for another reason. */
  void complete(Completion completion);
  void handOver();
  void diagnose(uint32_t port, const Diagnostic& diagnostic);
  void settled();

  // On the environment's thread.

  /** Moves up to `most` completions into `out`, oldest first. */
  void take(size_t most, std::vector<Completion>& out);
  std::vector<Note> takeNotes();
  bool empty();
  /** Whether a port has come to rest since the last call. */
  bool takeSettled();
  /**
   * The wake that is being served is over. False when there is more: then it is not over, and
   * whoever serves has to come back without being woken.
   */
  bool served();
  /** Whether the loop is kept alive by this environment. */
  void hold(Napi::Env env, bool held);

 private:
  static void onWake(Napi::Env env, Napi::Function, Environment* environment, void*);
  using Wake = Napi::TypedThreadSafeFunction<Environment, void, &Outbox::onWake>;

  void wakeLocked();

  std::mutex mutex_;
  Wake wake_;
  bool closed_ = true;
  bool woken_ = false;
  bool settled_ = false;
  bool held_ = false;
  std::deque<Completion> completions_;
  std::vector<Note> notes_;
};

/** One port's way into the outbox. */
class PortSink final : public CompletionSink {
 public:
  PortSink(std::shared_ptr<Outbox> outbox, uint32_t port)
      : outbox_(std::move(outbox)), port_(port) {}

  void complete(Completion completion) override {
    ++waiting_;
    outbox_->complete(std::move(completion));
  }
  void handOver() override {
    if (std::exchange(waiting_, size_t{0}) > 0) outbox_->handOver();
  }
  size_t waiting() const override { return waiting_; }
  void diagnose(const Diagnostic& diagnostic) override { outbox_->diagnose(port_, diagnostic); }
  void settled() override { outbox_->settled(); }

 private:
  const std::shared_ptr<Outbox> outbox_;
  const uint32_t port_;
  size_t waiting_ = 0;  // the engine's
};

}  // namespace rxib::addon
