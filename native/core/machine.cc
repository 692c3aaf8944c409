#include "core/machine.h"

#include <algorithm>

namespace rxib {

void ThreadDriver::start() {
  thread_ = std::thread([this] { loop(); });
}

void ThreadDriver::wake() {
  {
    Lock lock(mutex_);
    if (woken_) return;
    woken_ = true;
    // Whoever runs it looks once more when it is done.
    if (running_) return;
  }
  condition_.notify_one();
}

Instant ThreadDriver::wakeHere(Duration reach) {
  {
    Lock lock(mutex_);
    if (running_ || stopping_) {
      woken_ = true;
      return kNever;
    }
    runOnce(lock);
    if (!woken_ && !stopping_) {
      if (next_ >= resumes_) return kNever;
      // Two changes of thread, to set an alarm earlier, cost more than the caller's coming back.
      if (reach > Duration{0} && next_ <= after(steadyNow(), reach)) return next_;
    }
  }
  // The caller has work of its own; anything further is the thread's.
  condition_.notify_one();
  return kNever;
}

void ThreadDriver::stop() {
  {
    Lock lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ThreadDriver::runOnce(Lock& lock) {
  running_ = true;
  woken_ = false;
  lock.unlock();
  const Instant next = machine_.run(steadyNow());
  lock.lock();
  running_ = false;
  next_ = next;
}

void ThreadDriver::loop() {
  Lock lock(mutex_);
  woken_ = true;
  for (;;) {
    if (running_) {
      resumes_ = kNever;
      condition_.wait(lock);
    } else if (stopping_) {
      return;
    } else if (woken_ || next_ <= steadyNow()) {
      runOnce(lock);
    } else if (next_ == kNever) {
      resumes_ = kNever;
      condition_.wait(lock);
    } else {
      resumes_ = next_;
      condition_.wait_until(lock, next_);
    }
  }
}

void ManualDriver::add(Slot& slot, Machine& machine) {
  slot.machine_ = &machine;
  slot.woken_ = true;
  slots_.push_back(&slot);
}

void ManualDriver::remove(Slot& slot) {
  slots_.erase(std::remove(slots_.begin(), slots_.end(), &slot), slots_.end());
}

void ManualDriver::settle() {
  bool ran = true;
  while (ran) {
    ran = false;
    // By index: a machine's run may add further machines.
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = *slots_[i];
      if (!slot.woken_.exchange(false) && slot.next_ > now_) continue;
      slot.next_ = slot.machine_->run(now_);
      ran = true;
    }
  }
}

void ManualDriver::advanceOnce(Instant target) {
  settle();
  Instant next = target;
  for (const Slot* slot : slots_) next = std::min(next, slot->next_);
  now_ = std::max(now_, next);
  settle();
}

void ManualDriver::advance(Duration by) {
  const Instant target = after(now_, by);
  do {
    advanceOnce(target);
  } while (now_ < target);
}

}  // namespace rxib
