// The port as an actor, under both drivers.
#include "sa/port.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "model_sa.h"
#include "world.h"

namespace rxib::test {
namespace {

/** A port under a manual clock. */
struct ManualPort {
  explicit ManualPort(const sa::Options& options = quietOptions()) {
    auto owned = std::make_unique<ScriptedTransport>();
    transport = owned.get();
    port = std::make_unique<sa::Port>(std::move(owned), options);
    port->start(slot);
    driver.add(slot, *port);
    port->attach(sink);
  }
  /** From now on every MAD is answered after `delay`. */
  void obey(Duration delay) {
    transport->script = [this, delay](const SentMad& mad) {
      transport->deliver(received(model.execute(mad), mad.lid), transport->now() + delay);
      return kOk;
    };
  }

  ManualDriver driver;
  ManualDriver::Slot slot;
  ScriptedTransport* transport = nullptr;
  ModelSa model;
  std::shared_ptr<RecordingSink> sink = std::make_shared<RecordingSink>();
  std::unique_ptr<sa::Port> port;
};

TEST("sa port: a caller sees its own calls counted at once") {
  ManualPort world;
  world.obey(ms(1));
  world.port->join(1, joinSpec(1), world.sink.get());
  CHECK_EQ(world.port->stats().joinsStarted.get(), 1u);
  CHECK_EQ(world.port->stats().handlesAlive.get(), 1u);
  world.port->free(1);
  CHECK_EQ(world.port->stats().handlesFreed.get(), 1u);
  CHECK_EQ(world.port->stats().handlesAlive.get(), 0u);
  CHECK_EQ(world.transport->sent.size(), 0u);
}

TEST("sa port: unsettled from the free on, and settled() exactly when that ends") {
  ManualPort world;
  world.obey(ms(10));
  world.port->join(1, joinSpec(1), world.sink.get());
  CHECK(!world.port->unsettled());
  world.driver.advance(ms(1000));
  CHECK(!world.port->unsettled());
  CHECK_EQ(world.sink->settledCalls, 0);
  world.port->free(1);
  CHECK(world.port->unsettled());
  world.driver.advance(ms(9));
  CHECK(world.port->unsettled());
  CHECK_EQ(world.sink->settledCalls, 0);
  world.driver.advance(ms(1));
  CHECK(!world.port->unsettled());
  CHECK_EQ(world.sink->settledCalls, 1);
  world.driver.advance(ms(60000));
  CHECK_EQ(world.sink->settledCalls, 1);
  CHECK_EQ(world.port->stats().groups.get(), 0u);
}

TEST("sa port: joins that gather in the line do not keep anybody waiting for what leaves") {
  sa::Options options = quietOptions();
  options.gather = 64;
  ManualPort world(options);
  world.obey(ms(10));
  world.port->join(1, joinSpec(1), world.sink.get());
  world.port->flush();
  world.driver.advance(ms(20));
  world.port->free(1);
  world.port->flush();
  world.driver.advance(ms(5));
  CHECK(world.port->unsettled());
  // Another thread's, which has not handed them over yet.
  world.port->join(2, joinSpec(2), world.sink.get());
  world.driver.advance(ms(5));
  CHECK(!world.port->unsettled());
  CHECK_EQ(world.sink->settledCalls, 1);
  world.port->join(3, joinSpec(3), world.sink.get());
  CHECK(!world.port->unsettled());
  CHECK(world.port->waitSettled(Duration{0}));
  world.port->free(3);
  CHECK(world.port->unsettled());
}

/** Keeps the completions that are handed over apart from those that only lie there. */
class PatientSink final : public CompletionSink {
 public:
  void complete(Completion) override { ++waiting_; }
  void handOver() override {
    if (waiting_ > 0) batches.push_back(std::exchange(waiting_, size_t{0}));
  }
  size_t waiting() const override { return waiting_; }
  void diagnose(const Diagnostic&) override {}
  void settled() override {}

  std::vector<size_t> batches;

 private:
  size_t waiting_ = 0;
};

/** Answers joins one after the other, `pause` apart. */
struct PatientPort : ManualPort {
  explicit PatientPort(Duration pause, int window = 64) : ManualPort(patientOptions(window)) {
    port->attach(patient);
    transport->script = [this, pause](const SentMad& mad) {
      if (silent) return kOk;
      last = std::max(last, transport->now()) + pause;
      transport->deliver(received(model.execute(mad), mad.lid), last);
      return kOk;
    };
  }
  static sa::Options patientOptions(int window) {
    sa::Options options = quietOptions();
    options.handOverDelay = Duration{200};
    options.maxOutstanding = window;
    return options;
  }
  void join(int count) {
    for (int i = 0; i < count; ++i) {
      ++joins;
      port->join(joins, joinSpec(static_cast<uint8_t>(joins)), patient.get());
    }
  }
  std::shared_ptr<PatientSink> patient = std::make_shared<PatientSink>();
  Instant last{};
  HandleId joins = 0;
  bool silent = false;
};

using Batches = std::vector<size_t>;

TEST("sa port: a completion is handed over at once when no answer is outstanding") {
  PatientPort world(Duration{50});
  for (int i = 0; i < 3; ++i) {
    world.join(1);
    world.driver.advance(Duration{49});
    CHECK(world.patient->batches == Batches(static_cast<size_t>(i), 1));
    world.driver.advance(Duration{1});
    CHECK(world.patient->batches == Batches(static_cast<size_t>(i) + 1, 1));
  }
}

TEST("sa port: completions of answers that follow each other closely are handed over together") {
  PatientPort world(Duration{50}, 1);
  world.join(9);
  // What came before the first is far away.
  world.driver.advance(Duration{50});
  CHECK(world.patient->batches == Batches({1}));
  // From 100 to 300.
  world.driver.advance(Duration{249});
  CHECK(world.patient->batches == Batches({1}));
  world.driver.advance(Duration{1});
  CHECK(world.patient->batches == Batches({1, 5}));
  world.driver.advance(Duration{99});
  CHECK(world.patient->batches == Batches({1, 5}));
  world.driver.advance(Duration{1});
  CHECK(world.patient->batches == Batches({1, 5, 2}));
}

TEST("sa port: completions of answers that are far apart are handed over one by one") {
  PatientPort world(Duration{200}, 1);
  world.join(4);
  for (size_t i = 1; i <= 4; ++i) {
    world.driver.advance(Duration{200});
    CHECK(world.patient->batches == Batches(i, 1));
  }
}

TEST("sa port: a completion does not wait long for an answer that stays out") {
  PatientPort world(Duration{50}, 2);
  world.join(2);
  world.driver.advance(Duration{0});
  world.silent = true;
  world.join(4);
  world.driver.advance(Duration{100});
  CHECK(world.patient->batches == Batches({1}));
  world.driver.advance(ms(20) - Duration{1});
  CHECK(world.patient->batches == Batches({1}));
  world.driver.advance(Duration{1});
  CHECK(world.patient->batches == Batches({1, 1}));
}

TEST("sa port: sixty-four completions wait for no more") {
  PatientPort world(Duration{1}, 16);
  world.join(100);
  world.driver.advance(Duration{64});
  CHECK(world.patient->batches == Batches({1}));
  world.driver.advance(Duration{1});
  CHECK(world.patient->batches == Batches({1, 64}));
}

TEST("sa port: with nothing in line, every fourth of the window that is free is told") {
  PatientPort world(Duration{10});
  world.join(16);
  world.driver.advance(Duration{160});
  CHECK(world.patient->batches == Batches({1, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1}));
}

TEST("sa port: what waits for a sink that is detached is handed over before it goes") {
  PatientPort world(Duration{100}, 1);
  world.join(4);
  world.driver.advance(Duration{200});
  CHECK(world.patient->batches == Batches({1}));
  world.port->detach(world.patient);
  world.driver.advance(Duration{0});
  CHECK(world.patient->batches == Batches({1, 1}));
  CHECK_EQ(world.patient.use_count(), 1);
}

TEST("sa port: a port that goes down has nobody left who could be told") {
  ManualPort world;
  world.port->join(1, joinSpec(1), world.sink.get());
  world.driver.advance(Duration{0});
  world.port->free(1);
  world.driver.advance(Duration{0});
  CHECK(world.port->unsettled());
  const int before = world.sink->settledCalls;
  world.transport->raise(ResetReason::kPortError, [](PortState& p) { p.phase = PortPhase::kDown; });
  world.driver.advance(Duration{0});
  CHECK(!world.port->unsettled());
  CHECK_EQ(world.sink->settledCalls, before + 1);
  CHECK(world.port->state().phase == PortPhase::kDown);
}

TEST("sa port: detach frees what is left of a sink, lets go of it, and counts once") {
  ManualPort world;
  world.obey(ms(5));
  auto leaving = std::make_shared<RecordingSink>();
  std::weak_ptr<RecordingSink> watched = leaving;
  world.port->attach(leaving);
  for (HandleId id = 1; id <= 3; ++id) {
    world.port->join(id, joinSpec(static_cast<uint8_t>(id)), leaving.get());
  }
  world.port->join(4, joinSpec(1), world.sink.get());
  world.driver.advance(ms(20));
  world.port->join(5, joinSpec(5), leaving.get());
  world.port->free(1);
  world.port->detach(leaving);
  // Freed twice, because the environment could not know how far the port was.
  world.port->free(2);
  leaving.reset();
  CHECK(!watched.expired());
  world.driver.advance(Duration{0});
  CHECK(watched.expired());
  CHECK_EQ(world.port->stats().joinsStarted.get(), 5u);
  CHECK_EQ(world.port->stats().handlesFreed.get(), 4u);
  CHECK_EQ(world.port->stats().handlesAlive.get(), 1u);
  world.transport->raise(ResetReason::kSmChange);
  world.driver.advance(ms(60000));
  CHECK_EQ(world.sink->told(4), "0 -102");
  world.port->free(4);
  world.driver.advance(ms(60000));
  CHECK_EQ(world.port->stats().handlesAlive.get(), 0u);
  CHECK_EQ(world.port->stats().groups.get(), 0u);
  CHECK_EQ(world.model.members.size(), 0u);
}

TEST("sa port: a completion may have its own handle freed") {
  ManualPort world;
  world.obey(ms(5));
  struct Leaver final : RecordingSink {
    void complete(Completion completion) override {
      RecordingSink::complete(std::move(completion));
      // From the engine's thread a command is only queued, as from any other.
      port->free(7);
    }
    sa::Port* port = nullptr;
  };
  auto leaver = std::make_shared<Leaver>();
  leaver->port = world.port.get();
  world.port->attach(leaver);
  world.port->join(7, joinSpec(1), leaver.get());
  world.driver.advance(ms(60000));
  CHECK_EQ(leaver->told(7), "0");
  CHECK_EQ(world.model.members.size(), 0u);
  CHECK_EQ(world.port->stats().groups.get(), 0u);
}

TEST("sa port: destroyed with requests outstanding and commands queued, nobody is called") {
  auto sink = std::make_shared<RecordingSink>();
  {
    ManualPort world;
    world.port->attach(sink);
    for (HandleId id = 1; id <= 100; ++id) {
      world.port->join(id, joinSpec(static_cast<uint8_t>(id)), sink.get());
    }
    world.driver.advance(ms(500));
    world.port->free(3);
    world.port->join(200, joinSpec(200), sink.get());
    world.port->detach(world.sink);
    world.driver.remove(world.slot);
    world.port->stop();
    CHECK(world.transport->stopped);
    world.port->stop();
  }
  CHECK_EQ(sink->completions.size(), 0u);
  CHECK_EQ(sink.use_count(), 1);
}

TEST("sa port: leaveStale leaves what a reset has left standing, unless somebody else is there") {
  for (bool alone : {true, false}) {
    ManualPort world;
    world.obey(ms(5));
    auto other = std::make_shared<RecordingSink>();
    if (!alone) world.port->attach(other);
    world.port->join(1, joinSpec(1), world.sink.get());
    world.driver.advance(ms(20));
    world.transport->raise(ResetReason::kLidChange);
    world.driver.advance(Duration{0});
    world.port->free(1);
    world.driver.advance(ms(20));
    CHECK(!world.port->unsettled());
    CHECK_EQ(world.model.members.size(), 1u);
    world.port->leaveStale();
    CHECK(world.port->unsettled());
    world.driver.advance(Duration{0});
    CHECK_EQ(world.port->unsettled(), alone);
    world.driver.advance(ms(20));
    CHECK(!world.port->unsettled());
    CHECK_EQ(world.model.members.size(), alone ? 0u : 1u);
  }
}

TEST("sa port: the last to detach leaves what a reset had left standing") {
  ManualPort world;
  world.obey(ms(5));
  world.port->join(1, joinSpec(1), world.sink.get());
  world.driver.advance(ms(10));
  world.transport->raise(ResetReason::kLidChange);
  world.driver.advance(ms(10));
  world.port->free(1);
  world.driver.advance(ms(10));
  CHECK_EQ(world.model.members.size(), 1u);
  CHECK(!world.port->unsettled());
  auto other = std::make_shared<RecordingSink>();
  world.port->attach(other);
  world.port->detach(other);
  world.driver.advance(ms(10));
  CHECK_EQ(world.model.members.size(), 1u);
  world.port->detach(world.sink);
  CHECK(world.port->unsettled());
  world.driver.advance(ms(10));
  CHECK(!world.port->unsettled());
  CHECK_EQ(world.model.members.size(), 0u);
}

/** A port on a thread of its own; the answers come a moment later, in real time. */
struct ThreadPort {
  struct Sink final : CompletionSink {
    void complete(Completion completion) override {
      std::lock_guard<std::mutex> lock(mutex);
      ++told[completion.handle];
      if (completion.status == 0) ++joined;
    }
    void diagnose(const Diagnostic&) override {}
    void settled() override { ++settledCalls; }

    std::mutex mutex;
    std::map<HandleId, int> told;
    std::atomic<int> joined{0};
    std::atomic<int> settledCalls{0};
  };

  ThreadPort() {
    sa::Options options = quietOptions();
    options.maxOutstanding = 8;
    auto owned = std::make_unique<ScriptedTransport>();
    transport = owned.get();
    transport->keep = false;
    transport->script = [this](const SentMad& mad) {
      if (silent) return kOk;
      transport->deliver(received(model.execute(mad), mad.lid),
                         transport->now() + std::chrono::microseconds{200});
      return kOk;
    };
    port = std::make_unique<sa::Port>(std::move(owned), options);
    driver = std::make_unique<ThreadDriver>(*port);
    port->start(*driver);
    driver->start();
  }
  ~ThreadPort() {
    driver->stop();
    port->stop();
  }

  std::atomic<bool> silent{false};
  ScriptedTransport* transport = nullptr;
  ModelSa model;  // the driver's thread, and the test's after stop()
  std::unique_ptr<sa::Port> port;
  std::unique_ptr<ThreadDriver> driver;
};

TEST("sa port: commands from several threads, events among them, end in an empty fabric") {
  ThreadPort world;
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  std::vector<std::shared_ptr<ThreadPort::Sink>> sinks;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    sinks.push_back(std::make_shared<ThreadPort::Sink>());
    threads.emplace_back([&world, t, sink = sinks.back()] {
      world.port->attach(sink);
      const HandleId base = static_cast<HandleId>(t) * 100000;
      for (int i = 0; i < kRounds; ++i) {
        const HandleId id = base + static_cast<HandleId>(i);
        const uint8_t bits = i % 3 == 0 ? 4 : 1;
        world.port->join(id, joinSpec(static_cast<uint8_t>(1 + i % 7), bits), sink.get());
        if (i >= 5) world.port->free(id - 5);
        if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds{300});
        if (i % 100 == 50) world.transport->raise(ResetReason::kSmChange);
        world.port->stats();
        world.port->state();
        world.port->unsettled();
      }
      // Every second one leaves its last handles to the detach.
      if (t % 2 == 0) {
        for (int i = kRounds - 5; i < kRounds; ++i) {
          world.port->free(base + static_cast<HandleId>(i));
        }
      }
      world.port->detach(sink);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(world.port->waitSettled(std::chrono::seconds{20}));
  world.driver->stop();
  const PortStats stats = world.port->stats();
  CHECK_EQ(stats.joinsStarted.get(), static_cast<uint64_t>(kThreads * kRounds));
  CHECK_EQ(stats.handlesFreed.get(), static_cast<uint64_t>(kThreads * kRounds));
  CHECK_EQ(stats.handlesAlive.get(), 0u);
  CHECK_EQ(stats.groups.get(), 0u);
  CHECK_EQ(world.model.members.size(), 0u);
  CHECK(stats.outstandingPeak <= 8u);
  for (const auto& sink : sinks) CHECK_EQ(sink.use_count(), 1);
}

TEST("sa port: waitSettled waits for the last Delete, and not longer than it may") {
  ThreadPort world;
  auto sink = std::make_shared<ThreadPort::Sink>();
  world.port->attach(sink);
  world.port->join(1, joinSpec(1), sink.get());
  while (sink->joined == 0) std::this_thread::yield();
  CHECK(world.port->waitSettled(std::chrono::seconds{20}));
  world.silent = true;
  world.port->free(1);
  CHECK(!world.port->waitSettled(ms(20)));
  CHECK(world.port->unsettled());
  world.silent = false;
  const int before = sink->settledCalls;
  CHECK(world.port->waitSettled(std::chrono::seconds{20}));
  world.driver->stop();
  CHECK_EQ(sink->settledCalls.load(), before + 1);
  CHECK_EQ(world.model.members.size(), 0u);
}

TEST("sa port: a port on its thread is destroyed with requests outstanding") {
  for (int i = 0; i < 20; ++i) {
    ThreadPort world;
    world.silent = true;
    auto sink = std::make_shared<ThreadPort::Sink>();
    world.port->attach(sink);
    for (HandleId id = 1; id <= 20; ++id) {
      world.port->join(id, joinSpec(static_cast<uint8_t>(id)), sink.get());
    }
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{500});
  }
}

}  // namespace
}  // namespace rxib::test
