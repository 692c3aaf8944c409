#include "addon/outbox.h"

#include <utility>

#include "addon/environment.h"

namespace rxib::addon {
namespace {

// Diagnostics are a service, not a promise: in a storm the newest are dropped.
constexpr size_t kNotesLimit = 4096;

}  // namespace

void Outbox::open(Napi::Env env, Environment& environment) {
  std::lock_guard<std::mutex> lock(mutex_);
  wake_ = Wake::New(env, "rx-ib-multicast", 0, 1, &environment);
  wake_.Unref(env);
  closed_ = false;
}

void Outbox::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  closed_ = true;
  completions_.clear();
  notes_.clear();
  wake_.Abort();
}

void Outbox::onWake(Napi::Env env, Napi::Function, Environment* environment, void*) {
  // At the end of an environment the queue is emptied without one.
  if (env == nullptr || environment == nullptr) return;
  environment->serve(env);
}

void Outbox::wakeLocked() {
  if (closed_ || woken_) return;
  woken_ = wake_.NonBlockingCall() == napi_ok;
}

void Outbox::complete(Completion completion) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_) completions_.push_back(std::move(completion));
}

void Outbox::handOver() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!completions_.empty()) wakeLocked();
}

void Outbox::diagnose(uint32_t port, const Diagnostic& diagnostic) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || notes_.size() >= kNotesLimit) return;
  notes_.push_back({port, diagnostic});
  wakeLocked();
}

void Outbox::settled() {
  std::lock_guard<std::mutex> lock(mutex_);
  settled_ = true;
  wakeLocked();
}

void Outbox::take(size_t most, std::vector<Completion>& out) {
  out.clear();
  std::lock_guard<std::mutex> lock(mutex_);
  while (out.size() < most && !completions_.empty()) {
    out.push_back(std::move(completions_.front()));
    completions_.pop_front();
  }
}

bool Outbox::empty() {
  std::lock_guard<std::mutex> lock(mutex_);
  return completions_.empty();
}

std::vector<Outbox::Note> Outbox::takeNotes() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(notes_, {});
}

bool Outbox::takeSettled() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(settled_, false);
}

bool Outbox::served() {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool more = !completions_.empty() || !notes_.empty() || settled_;
  if (more && !closed_) return false;
  woken_ = false;
  return true;
}

void Outbox::hold(Napi::Env env, bool held) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || held == held_) return;
  held_ = held;
  if (held) {
    wake_.Ref(env);
  } else {
    wake_.Unref(env);
  }
}

}  // namespace rxib::addon
