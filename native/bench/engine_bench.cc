// The SA client without JavaScript. For each line of its input it joins the groups on the embedded
// fabric, frees them, and prints the rates as JSON. bench/embedded-rates.mjs does the same through
// joinMulticast$.
//
//   engine-bench GROUPS
//   engine-bench --memory GROUPS    prints the bytes of native heap per idle membership

#include <malloc.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "codec/byte_order.h"
#include "core/machine.h"
#include "embedded/fabric.h"
#include "sa/port.h"

namespace {

using namespace rxib;

/** Counts what arrives and lets the main thread wait for all of it. */
class CountingSink final : public CompletionSink {
 public:
  void complete(Completion completion) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (completion.status != 0) ++failed_;
    if (++arrived_ == wanted_) condition_.notify_one();
  }
  void diagnose(const Diagnostic&) override {}
  void settled() override {}

  /** Returns how many of the next `count` completions were failures. */
  size_t wait(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = count;
    condition_.wait(lock, [&] { return arrived_ >= count; });
    arrived_ = 0;
    wanted_ = 0;
    return std::exchange(failed_, 0);
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  size_t arrived_ = 0;
  size_t wanted_ = 0;
  size_t failed_ = 0;
};

JoinSpec specOf(uint32_t index) {
  JoinSpec spec;
  McMemberRecord& record = spec.record;
  record.mgid.bytes[0] = 0xff;
  record.mgid.bytes[1] = 0x12;
  record.mgid.bytes[2] = 0xbe;
  codec::write32(record.mgid.bytes.data() + 12, index + 1);
  record.qkey = 0xb1b;
  record.pkey = 0xffff;
  record.joinState = kFullMember;
  spec.mask = bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kJoinState) |
              bit(McComponent::kQkey) | bit(McComponent::kPkey) | bit(McComponent::kTrafficClass) |
              bit(McComponent::kSl) | bit(McComponent::kFlowLabel);
  return spec;
}

sa::Options quietOptions() {
  sa::Options options;
  options.auditInterval = Duration{0};
  options.seed = 1;
  return options;
}

double secondsSince(Instant start) {
  return std::chrono::duration<double>(steadyNow() - start).count();
}

void measureRates(uint32_t groups) {
  embedded::FabricOptions fabricOptions;
  fabricOptions.mlidPool = embedded::kMlidsThere;
  fabricOptions.groupsPerMlid = 16;
  embedded::Fabric fabric(fabricOptions);
  ThreadDriver fabricThread(fabric);
  fabric.setWaker(&fabricThread);
  fabricThread.start();
  {
    sa::Port port(fabric.open(0), quietOptions());
    ThreadDriver thread(port);
    port.start(thread);
    thread.start();
    auto sink = std::make_shared<CountingSink>();
    port.attach(sink);
    HandleId first = 1;
    char line[16];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
      const Instant start = steadyNow();
      for (uint32_t i = 0; i < groups; ++i) port.join(first + i, specOf(i), sink.get());
      const size_t failed = sink->wait(groups);
      const double joinSeconds = secondsSince(start);
      const Instant freeing = steadyNow();
      for (uint32_t i = 0; i < groups; ++i) port.free(first + i);
      const bool settled = port.waitSettled(std::chrono::minutes{2});
      const double freeSeconds = secondsSince(freeing);
      if (failed != 0 || !settled) {
        std::fprintf(stderr, "%zu joins failed, settled: %d\n", failed, settled);
        std::exit(1);
      }
      std::printf("{\"joinsPerSecond\":%.0f,\"freesPerSecond\":%.0f}\n", groups / joinSeconds,
                  groups / freeSeconds);
      std::fflush(stdout);
      first += groups;
    }
    thread.stop();
    port.stop();
  }
  fabricThread.stop();
  fabric.setWaker(nullptr);
}

/** Grants every join on the spot and keeps nothing, so that what is allocated is the engine's. */
class GrantingTransport final : public MadTransport {
 public:
  GrantingTransport() {
    port_.phase = PortPhase::kActive;
    port_.lid = 2;
    port_.smLid = 1;
    port_.pkeys = {0xffff};
  }
  void start(Waker&) override {}
  Instant poll(Instant, Listener& listener) override {
    for (; !answers_.empty(); answers_.pop_front()) listener.onMad(answers_.front());
    return kNever;
  }
  int send(const codec::MadBytes& mad, uint16_t lid, uint8_t, Duration) override {
    ReceivedMad answer;
    answer.bytes.assign(mad.begin(), mad.end());
    answer.bytes[3] = static_cast<uint8_t>(codec::SaMethod::kGetResp);
    answer.sourceLid = lid;
    answers_.push_back(std::move(answer));
    return kOk;
  }
  const PortState& port() const override { return port_; }
  void watch(bool) override {}
  int wantReports(bool) override { return kOk; }
  void stop() override {}

 private:
  PortState port_;
  std::deque<ReceivedMad> answers_;
};

size_t heapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void measureMemory(uint32_t groups) {
  struct NullWaker final : Waker {
    void wake() override {}
  } waker;
  sa::Port port(std::make_unique<GrantingTransport>(), quietOptions());
  port.start(waker);
  auto sink = std::make_shared<CountingSink>();
  port.attach(sink);
  Instant now{};
  port.run(now);
  const size_t before = heapInUse();
  for (uint32_t i = 0; i < groups; ++i) {
    port.join(1 + i, specOf(i), sink.get());
    port.run(now);
    port.run(now);
  }
  if (port.stats().joined != groups) std::exit(1);
  std::printf("{\"bytesPerMembership\":%.1f}\n",
              static_cast<double>(heapInUse() - before) / groups);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--memory") == 0) {
    measureMemory(static_cast<uint32_t>(std::atoi(argv[2])));
  } else if (argc == 2) {
    measureRates(static_cast<uint32_t>(std::atoi(argv[1])));
  } else {
    std::fprintf(stderr, "usage: engine-bench GROUPS | --memory GROUPS\n");
    return 2;
  }
  return 0;
}
