#include "core/machine.h"

#include <algorithm>

namespace rxib {

void ThreadDriver::start() {
  thread_ = std::thread([this] { loop(); });
}

void ThreadDriver::wake() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (woken_) return;
    woken_ = true;
  }
  condition_.notify_one();
}

void ThreadDriver::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void ThreadDriver::loop() {
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      woken_ = false;
    }
    Instant next = machine_.run(steadyNow());
    std::unique_lock<std::mutex> lock(mutex_);
    auto ready = [this] { return woken_ || stopping_; };
    if (next == kNever) {
      condition_.wait(lock, ready);
    } else {
      condition_.wait_until(lock, next, ready);
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
