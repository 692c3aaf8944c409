// The way from the engines' threads to one JavaScript environment.
#pragma once

#include <napi.h>

#include <deque>
#include <mutex>
#include <vector>

#include "core/completion.h"

namespace rxib::addon {

class Environment;

/**
 * Collects completions and wakes the environment's loop, at most one wake under way at a time. Any
 * engine thread may call it; after close() it swallows everything.
 */
class Outbox final : public CompletionSink {
 public:
  void open(Napi::Env env, Environment& environment);
  /** The environment ends: from now on no call reaches it. On its own thread. */
  void close();

  // CompletionSink, on an engine's thread.
  void complete(Completion completion) override;
  void diagnose(const Diagnostic& diagnostic) override;
  void settled() override;

  // On the environment's thread.

  /** Moves up to `most` completions into `out`, oldest first. */
  void take(size_t most, std::vector<Completion>& out);
  std::vector<Diagnostic> takeDiagnostics();
  bool empty();
  /** Whether a port has come to rest since the last call. */
  bool takeSettled();
  /** The wake that is being served is over; asks for another one if there is more. */
  void served();
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
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace rxib::addon
