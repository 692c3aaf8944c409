// Who gets which port of this process, on a libibumad of the test's own.
#include "addon/port_registry.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "check.h"
#include "core/status.h"
#include "umad/strict_fake_umad.h"

namespace rxib::test {
namespace {

using addon::OpenResult;

PortInfo activePort() {
  PortInfo info{"mlx5_0", 1, {}};
  info.state.phase = PortPhase::kActive;
  info.state.linkLayer = LinkLayer::kInfiniBand;
  info.state.lid = 3;
  info.state.smLid = 1;
  info.state.gid.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
  info.state.pkeys = {0xffff};
  return info;
}

/** Collects statuses, those of completions and kENODEV for a removal, and waits for them. */
class Inbox final : public CompletionSink {
 public:
  void complete(Completion completion) override { add(completion.status); }
  void diagnose(const Diagnostic& diagnostic) override {
    if (diagnostic.reason == ResetReason::kDeviceRemoved) add(kENODEV);
  }
  void settled() override {}

  std::vector<int> wait(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    CHECK(changed_.wait_for(lock, std::chrono::seconds{10},
                            [&] { return statuses_.size() >= count; }));
    return statuses_;
  }

 private:
  void add(int status) {
    std::lock_guard<std::mutex> lock(mutex_);
    statuses_.push_back(status);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> statuses_;
};

TEST("addon ports: of a removed device each opener gets ENODEV, or a fresh port when it is back") {
  StrictFakeUmad fake;
  fake.addPort(activePort());
  addon::PortRegistry registry(
      [&fake](const std::string& device, uint8_t port, const umad::OpenOptions& options) {
        umad::Environment environment;
        environment.library = fake.library();
        return umad::open(environment, device, port, options);
      });
  addon::PortSettings settings;
  settings.sa.probe = sa::Probe::kNever;
  OpenResult first = registry.openUmad("mlx5_0", 1, settings);
  CHECK_EQ(first.status, kOk);
  CHECK(registry.openUmad("mlx5_0", 1, settings).port == first.port);
  auto inbox = std::make_shared<Inbox>();
  Engine& engine = first.port->engine();
  engine.attach(inbox);
  fake.removeDevice("mlx5_0");
  CHECK_EQ(inbox->wait(1)[0], kENODEV);
  CHECK(first.port->removed());

  // The first is still in use; whoever comes now must not be given what is deaf.
  OpenResult gone = registry.openUmad("mlx5_0", 1, settings);
  CHECK(gone.port == nullptr);
  CHECK_EQ(gone.status, kENODEV);
  fake.addPort(activePort());
  settings.sa.attempts = 5;
  OpenResult second = registry.openUmad("mlx5_0", 1, settings);
  CHECK_EQ(second.status, kOk);
  CHECK(second.port != first.port);
  CHECK(!second.port->removed());
  JoinSpec spec;
  spec.record.mgid.bytes = {0xff, 0x12, 0xca, 0xfe};
  spec.record.joinState = kFullMember;
  engine.join(1, spec, inbox.get());
  engine.flush();
  CHECK_EQ(inbox->wait(2)[1], kENODEV);
  // The end of the first takes nothing from the second.
  engine.detach(inbox);
  first.port.reset();
  CHECK(registry.openUmad("mlx5_0", 1, settings).port == second.port);
  CHECK(registry.openPorts() == std::vector<std::shared_ptr<addon::OpenPort>>{second.port});
  second.port.reset();
  for (const std::string& violation : fake.violations()) throw Failure(violation);
  CHECK(!fake.portOpen());
}

}  // namespace
}  // namespace rxib::test
