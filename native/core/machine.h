// A machine is a state machine driven by time: an SA client on its port, or an embedded fabric.
// A driver decides which thread runs it and whose clock it sees.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"

namespace rxib {

class Machine {
 public:
  virtual ~Machine() = default;

  /**
   * Does everything that is due at `now` and returns when it wants to run next (kNever: only when
   * woken). Called by one thread at a time, not always by the same.
   */
  virtual Instant run(Instant now) = 0;
};

/** Asks for a run soon. Callable from any thread, also from inside a run. */
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
  /**
   * The same for a caller that holds no lock: the run may take place on its thread, before this
   * returns. It saves a change of thread where the caller would only wait for the next reason.
   *
   * @param reach How soon the caller is sure to be free for another run.
   * @return When the caller has to come back for it at the latest; kNever when it need not.
   */
  virtual Instant wakeHere(Duration reach) {
    (void)reach;
    wake();
    return kNever;
  }
};

/**
 * Runs one machine in real time, on a thread of its own and, one at a time, on the threads of those
 * who ask by wakeHere().
 */
class ThreadDriver final : public Waker {
 public:
  explicit ThreadDriver(Machine& machine) : machine_(machine) {}
  ~ThreadDriver() override { stop(); }

  void start();
  void wake() override;
  Instant wakeHere(Duration reach) override;
  /** Returns once no thread runs the machine; it is then not run again. */
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void loop();
  void runOnce(Lock& lock);

  Machine& machine_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
  bool stopping_ = false;
  bool running_ = false;      // on whichever thread
  Instant next_ = kNever;     // as the last run had it
  Instant resumes_ = kNever;  // when the thread looks again by itself
  std::thread thread_;
};

/**
 * Runs several machines on the caller's thread, under a clock that moves only in advance().
 * A wake marks the machine; it runs at the same instant, before time goes on.
 */
class ManualDriver {
 public:
  class Slot final : public Waker {
   public:
    void wake() override { woken_.store(true); }

   private:
    friend class ManualDriver;
    Machine* machine_ = nullptr;
    Instant next_ = kNever;
    std::atomic<bool> woken_{true};
  };

  /** `slot` and `machine` must outlive their registration. */
  void add(Slot& slot, Machine& machine);
  void remove(Slot& slot);

  Instant now() const { return now_; }

  /** Moves time forward, stopping at every instant at which a machine has something due. */
  void advance(Duration by);
  /** Does what is due now, then moves to the next instant at which something is, or to `target`. */
  void advanceOnce(Instant target);

 private:
  void settle();

  Instant now_{Duration{0}};
  std::vector<Slot*> slots_;
};

}  // namespace rxib
