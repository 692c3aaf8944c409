// Port events over a libibverbs made of a pipe.
#include "rdma/verbs_events.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "check.h"

namespace rxib::rdma {
namespace {

using std::chrono::milliseconds;

/** One device, whose events are written into a pipe. Functions carry no context, hence `current`.
 */
class FakeVerbs {
 public:
  FakeVerbs() {
    current = this;
    CHECK(pipe(pipe_) == 0);
    std::memset(&extension, 0, sizeof extension);
    extension.queryPort = [](abi::VerbsContext*, uint8_t port, abi::VerbsPort* out, size_t size) {
      CHECK_EQ(size, sizeof *out);
      out->flags = port == 2 ? abi::kVerbsPortNeedsGrh : uint8_t{0};
      return 0;
    };
    extension.size = sizeof extension;
    extension.context.abiCompat = reinterpret_cast<void*>(UINTPTR_MAX);
    extension.context.asyncFd = pipe_[0];
  }
  ~FakeVerbs() {
    close(pipe_[0]);
    hangUp();
    current = nullptr;
  }

  std::shared_ptr<const VerbsLibrary> library() const {
    VerbsLibrary table{};
    table.getDeviceList = [](int* count) {
      static abi::VerbsDevice* list[2] = {reinterpret_cast<abi::VerbsDevice*>(0x10), nullptr};
      *count = 1;
      ++current->lists;
      return list;
    };
    table.freeDeviceList = [](abi::VerbsDevice**) { --current->lists; };
    table.getDeviceName = [](abi::VerbsDevice*) { return "mlx5_0"; };
    table.openDevice = [](abi::VerbsDevice*) -> abi::VerbsContext* {
      if (current->refuse) return nullptr;
      ++current->open;
      return &current->extension.context;
    };
    table.closeDevice = [](abi::VerbsContext*) {
      // The real one would wait for them for ever.
      CHECK_EQ(current->unacknowledged, 0);
      --current->open;
      return 0;
    };
    table.getAsyncEvent = [](abi::VerbsContext* context, abi::VerbsEvent* event) {
      const ssize_t got = read(context->asyncFd, event, sizeof *event);
      if (got == sizeof *event) {
        ++current->unacknowledged;
        return 0;
      }
      if (got == 0) errno = EIO;
      return -1;
    };
    table.acknowledge = [](abi::VerbsEvent*) { --current->unacknowledged; };
    return std::make_shared<VerbsLibrary>(table);
  }

  void emit(int type, int port = 1) {
    abi::VerbsEvent event{};
    event.type = type;
    event.element.port = port;
    CHECK(write(pipe_[1], &event, sizeof event) == sizeof event);
  }
  void hangUp() {
    if (pipe_[1] >= 0) close(pipe_[1]);
    pipe_[1] = -1;
  }

  static FakeVerbs* current;
  abi::VerbsExtension extension;
  bool refuse = false;
  int lists = 0;
  int open = 0;
  int unacknowledged = 0;

 private:
  int pipe_[2] = {-1, -1};
};
FakeVerbs* FakeVerbs::current = nullptr;

class CountingWaker final : public Waker {
 public:
  void wake() override { ++count; }
  bool reaches(int wanted) const {
    for (int i = 0; i < 1000 && count.load() < wanted; ++i) {
      std::this_thread::sleep_for(milliseconds{1});
    }
    return count.load() >= wanted;
  }
  std::atomic<int> count{0};
};

TEST("verbs events: a device that is not there or not allowed is no source") {
  FakeVerbs fake;
  CHECK(VerbsEvents::open(fake.library(), "mlx5_9", 1) == nullptr);
  fake.refuse = true;
  CHECK(VerbsEvents::open(fake.library(), "mlx5_0", 1) == nullptr);
  CHECK_EQ(fake.lists, 0);
  CHECK_EQ(fake.open, 0);
}

TEST("verbs events: every kind is taken, in order, and acknowledged") {
  FakeVerbs fake;
  {
    auto events = VerbsEvents::open(fake.library(), "mlx5_0", 1);
    CHECK(events != nullptr);
    const int types[] = {abi::kVerbsPortActive,       abi::kVerbsPortError,  abi::kVerbsLidChange,
                         abi::kVerbsSmChange,         abi::kVerbsPkeyChange, abi::kVerbsGidChange,
                         abi::kVerbsClientReregister, abi::kVerbsDeviceFatal};
    for (int type : types) fake.emit(type);
    PortReport report{};
    for (int i = 0; i < 8; ++i) {
      CHECK(events->take(report));
      CHECK_EQ(static_cast<int>(report), i + 1);
      CHECK_EQ(fake.unacknowledged, 0);
    }
    CHECK(!events->take(report));
  }
  CHECK_EQ(fake.open, 0);
}

TEST("verbs events: another port's and unknown ones are acknowledged and passed over") {
  FakeVerbs fake;
  auto events = VerbsEvents::open(fake.library(), "mlx5_0", 1);
  fake.emit(abi::kVerbsPortError, 2);
  fake.emit(14);  // an SRQ's
  fake.emit(abi::kVerbsLidChange, 1);
  fake.emit(abi::kVerbsPortError, 2);
  PortReport report{};
  CHECK(events->take(report));
  CHECK_EQ(report, PortReport::kLidChange);
  CHECK(!events->take(report));
  CHECK_EQ(fake.unacknowledged, 0);
}

TEST("verbs events: each batch wakes once, and an untaken one does not spin") {
  FakeVerbs fake;
  auto events = VerbsEvents::open(fake.library(), "mlx5_0", 1);
  CountingWaker waker;
  events->start(waker);
  fake.emit(abi::kVerbsLidChange);
  CHECK(waker.reaches(1));
  fake.emit(abi::kVerbsSmChange);
  std::this_thread::sleep_for(milliseconds{20});
  CHECK_EQ(waker.count.load(), 1);
  PortReport report{};
  CHECK(events->take(report));
  CHECK(events->take(report));
  CHECK(!events->take(report));
  fake.emit(abi::kVerbsPortError);
  CHECK(waker.reaches(2));
  events->stop();
  events->stop();
}

TEST("verbs events: a dead descriptor is a fatal event, once, and does not spin") {
  FakeVerbs fake;
  auto events = VerbsEvents::open(fake.library(), "mlx5_0", 1);
  CountingWaker waker;
  events->start(waker);
  fake.hangUp();
  CHECK(waker.reaches(1));
  PortReport report{};
  CHECK(events->take(report));
  CHECK_EQ(report, PortReport::kDeviceFatal);
  CHECK(!events->take(report));
  std::this_thread::sleep_for(milliseconds{20});
  CHECK_EQ(waker.count.load(), 1);
}

TEST("verbs events: the port says whether it needs a GRH, where the library can tell") {
  FakeVerbs fake;
  CHECK(!VerbsEvents::open(fake.library(), "mlx5_0", 1)->needsGrh());
  CHECK(VerbsEvents::open(fake.library(), "mlx5_0", 2)->needsGrh());
  fake.extension.size -= 8;
  CHECK(!VerbsEvents::open(fake.library(), "mlx5_0", 2)->needsGrh());
  fake.extension.size += 8;
  fake.extension.context.abiCompat = nullptr;
  CHECK(!VerbsEvents::open(fake.library(), "mlx5_0", 2)->needsGrh());
}

}  // namespace
}  // namespace rxib::rdma
