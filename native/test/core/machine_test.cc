// The thread that runs a machine, and those who lend it theirs.
#include "core/machine.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "test/check.h"

namespace {

using namespace rxib;
using std::chrono::milliseconds;

/** Notes who ran it, and what it answers to that. */
class Recorded final : public Machine {
 public:
  Instant run(Instant now) override {
    if (inside_.fetch_add(1) != 0) overlapped = true;
    Instant next = kNever;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      threads_.push_back(std::this_thread::get_id());
      next = after(now, pause);
      pause = Duration::max();
      changed_.notify_all();
      changed_.wait(lock, [this] { return !held_; });
    }
    inside_.fetch_sub(1);
    return next;
  }

  void hold(bool held) {
    std::lock_guard<std::mutex> lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

  size_t runs() {
    std::lock_guard<std::mutex> lock(mutex_);
    return threads_.size();
  }

  std::thread::id lastThread() {
    std::lock_guard<std::mutex> lock(mutex_);
    return threads_.back();
  }

  bool waitForRuns(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{10},
                             [&] { return threads_.size() >= count; });
  }

  /** How long after the next run the one behind it is due. */
  std::atomic<Duration> pause{Duration::max()};
  std::atomic<bool> overlapped{false};

 private:
  std::atomic<int> inside_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::thread::id> threads_;
};

TEST("thread driver: the first run and those after a wake are its own thread's") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.start();
  CHECK(machine.waitForRuns(1));
  CHECK(machine.lastThread() != std::this_thread::get_id());
  driver.wake();
  CHECK(machine.waitForRuns(2));
  CHECK(machine.lastThread() != std::this_thread::get_id());
  driver.stop();
  driver.wake();
  driver.wakeHere(Duration{0});
  CHECK_EQ(machine.runs(), size_t{2});
}

TEST("thread driver: who lends a thread has it run before the call returns") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.wakeHere(Duration{0});
  CHECK_EQ(machine.runs(), size_t{1});
  CHECK(machine.lastThread() == std::this_thread::get_id());
  driver.stop();
}

TEST("thread driver: a deadline set on a lent thread is the own thread's to keep") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.start();
  CHECK(machine.waitForRuns(1));
  const auto ours = std::this_thread::get_id();
  // Until the thread has come to rest, it takes the runs itself.
  while (machine.lastThread() != ours) {
    machine.pause = milliseconds{20};
    driver.wakeHere(Duration{0});
    std::this_thread::sleep_for(milliseconds{1});
  }
  for (int i = 0; i < 10'000 && machine.lastThread() == ours; ++i) {
    std::this_thread::sleep_for(milliseconds{1});
  }
  CHECK(machine.lastThread() != ours);
  driver.stop();
}

TEST("thread driver: a deadline within the lender's reach is the lender's to keep") {
  Recorded machine;
  ThreadDriver driver(machine);
  machine.pause = milliseconds{20};
  const Instant before = steadyNow();
  const Instant due = driver.wakeHere(milliseconds{50});
  CHECK(due >= before + milliseconds{20});
  CHECK(due <= steadyNow() + milliseconds{20});
  machine.pause = milliseconds{60};
  CHECK(driver.wakeHere(milliseconds{50}) == kNever);
  CHECK(driver.wakeHere(milliseconds{50}) == kNever);
  // Who is about to pause takes nothing on, not even what is due already.
  machine.pause = Duration{1};
  CHECK(driver.wakeHere(Duration{0}) == kNever);
  driver.stop();
}

TEST("thread driver: a wake during a run on a lent thread is not lost") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.start();
  CHECK(machine.waitForRuns(1));
  machine.hold(true);
  std::thread lender([&] { driver.wakeHere(Duration{0}); });
  CHECK(machine.waitForRuns(2));
  driver.wake();
  driver.wakeHere(Duration{0});
  CHECK_EQ(machine.runs(), size_t{2});
  machine.hold(false);
  CHECK(machine.waitForRuns(3));
  lender.join();
  driver.stop();
  CHECK(!machine.overlapped);
}

TEST("thread driver: stop() waits for a run on a lent thread") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.start();
  CHECK(machine.waitForRuns(1));
  machine.hold(true);
  std::thread lender([&] { driver.wakeHere(Duration{0}); });
  CHECK(machine.waitForRuns(2));
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    driver.stop();
    stopped = true;
  });
  std::this_thread::sleep_for(milliseconds{20});
  CHECK(!stopped);
  machine.hold(false);
  stopper.join();
  lender.join();
  CHECK(stopped);
}

TEST("thread driver: many who wake and lend never run it at the same time") {
  Recorded machine;
  ThreadDriver driver(machine);
  driver.start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 2000; ++turn) {
        if ((turn + i) % 3 == 0) {
          driver.wake();
        } else {
          driver.wakeHere(Duration{0});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const size_t before = machine.runs();
  driver.wake();
  CHECK(machine.waitForRuns(before + 1));
  driver.stop();
  CHECK(!machine.overlapped);
}

}  // namespace
