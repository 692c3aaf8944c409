// When there is no memory for the queues between callers and an engine: a call that does not fit is
// as if it had not been made, and a completion that does not fit ends the process.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "model_sa.h"
#include "sa/port.h"
#include "world.h"

namespace {

/** So many allocations of this thread succeed before one fails; below 0 all do. */
thread_local long allowed = -1;

void* allocate(std::size_t size) {
  if (allowed == 0) throw std::bad_alloc();
  if (allowed > 0) --allowed;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Called and never inlined, since valgrind replaces them: all calls then come to its own, or none.
[[gnu::noinline]] void* operator new(std::size_t size) { return allocate(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rxib::test {
namespace {

/** valgrind puts an operator new of its own in the place of the one above. */
bool canFail() {
  allowed = 0;
  bool failed = false;
  try {
    ::operator delete(::operator new(1));
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  allowed = -1;
  return failed;
}

/** A sink with a queue of its own, for which there is no memory. */
class FullSink final : public RecordingSink {
 public:
  void complete(Completion completion) override {
    allowed = 0;
    queue_.push_back(std::move(completion));
  }

 private:
  std::vector<Completion> queue_;
};

TEST("sa memory: a join that does not fit into the queue throws, and the port goes on without it") {
  if (!canFail()) return;
  ManualDriver driver;
  ManualDriver::Slot slot;
  ModelSa model;
  auto owned = std::make_unique<ScriptedTransport>();
  ScriptedTransport* transport = owned.get();
  transport->script = [&](const SentMad& mad) {
    transport->deliver(received(model.execute(mad), mad.lid));
    return kOk;
  };
  sa::Port port(std::move(owned), quietOptions());
  port.start(slot);
  driver.add(slot, port);
  auto sink = std::make_shared<RecordingSink>();
  port.attach(sink);
  driver.advance(Duration{0});
  long fits = 0;
  for (bool joined = false; !joined; ++fits) {
    CHECK_EQ(port.stats().joinsStarted.get(), 0u);
    CHECK(!port.unsettled());
    allowed = fits;
    try {
      port.join(1, joinSpec(1), sink.get());
      joined = true;
    } catch (const std::bad_alloc&) {
      // The next try may have one more.
    }
    allowed = -1;
  }
  CHECK(fits > 1);
  driver.advance(Duration{0});
  CHECK_EQ(sink->told(1), "0");
  port.free(1);
  driver.advance(Duration{0});
  CHECK_EQ(port.stats().handlesAlive.get(), 0u);
  CHECK_EQ(model.members.size(), 0u);
  driver.remove(slot);
}

TEST(
    "sa memory: a completion that does not fit into its queue ends the process, which never "
    "hangs") {
  if (!canFail()) return;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // What the C++ library has to say is expected.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
    alarm(20);
    auto owned = std::make_unique<ScriptedTransport>();
    ScriptedTransport* transport = owned.get();
    transport->script = [transport](const SentMad& mad) {
      transport->answer(mad);
      return kOk;
    };
    sa::Port port(std::move(owned), quietOptions());
    ThreadDriver thread(port);
    port.start(thread);
    thread.start();
    auto sink = std::make_shared<FullSink>();
    port.attach(sink);
    port.join(1, joinSpec(1), sink.get());
    for (;;) pause();
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), SIGABRT);
}

}  // namespace
}  // namespace rxib::test
