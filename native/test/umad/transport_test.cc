// The umad transport over a libibumad as strict as the kernel.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "check.h"
#include "codec/byte_order.h"
#include "codec/mc_member_record.h"
#include "few_descriptors.h"
#include "umad/discovery.h"
#include "umad/port_claim.h"
#include "umad/strict_fake_umad.h"
#include "umad/umad_transport.h"

namespace rxib::test {
namespace {

using std::chrono::milliseconds;

PortState activePort() {
  PortState state;
  state.phase = PortPhase::kActive;
  state.linkLayer = LinkLayer::kInfiniBand;
  state.lid = 3;
  state.smLid = 1;
  state.smSl = 2;
  state.gid.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 3};
  state.pkeys.assign(40, 0);
  state.pkeys[0] = 0x8001;
  state.pkeys[35] = 0xffff;
  return state;
}

PortInfo portOf(const std::string& device, uint8_t port, PortState state = activePort()) {
  return {device, port, std::move(state)};
}

class CountingWaker final : public Waker {
 public:
  void wake() override { ++count; }
  std::atomic<int> count{0};
};

struct Listener final : MadTransport::Listener {
  void onMad(const ReceivedMad& mad) override { mads.push_back(mad); }
  void onPortEvent(const PortEvent& event) override { events.push_back(event); }
  std::vector<ReceivedMad> mads;
  std::vector<PortEvent> events;
};

/** Reports that a test makes up. */
class ScriptedEvents final : public rdma::PortEventSource {
 public:
  struct Script {
    std::deque<rdma::PortReport> reports;
    bool needsGrh = false;
    bool started = false;
    bool stopped = false;
  };
  explicit ScriptedEvents(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  void start(Waker&) override { script_->started = true; }
  bool take(rdma::PortReport& report) override {
    if (script_->reports.empty()) return false;
    report = script_->reports.front();
    script_->reports.pop_front();
    return true;
  }
  bool needsGrh() const override { return script_->needsGrh; }
  void stop() override { script_->stopped = true; }

 private:
  std::shared_ptr<Script> script_;
};

codec::MadBytes request(uint32_t transactionId, uint8_t method = 0x02) {
  codec::SaMad mad;
  mad.method = method;
  mad.transactionId = transactionId;
  mad.attributeId = 0x38;
  codec::MadBytes bytes;
  codec::packSaMad(mad, bytes);
  return bytes;
}

/** A port opened on the fake, with a clock of its own for poll(). */
struct Bench {
  explicit Bench(size_t headerSize = 64) : fake(headerSize) {}
  ~Bench() { transport.reset(); }

  umad::Environment environment() {
    umad::Environment result;
    result.library = fake.library();
    if (script) {
      result.events = [this](const std::string&, uint8_t) {
        return std::make_unique<ScriptedEvents>(script);
      };
    }
    return result;
  }

  umad::Opened tryOpen(const std::string& device = "mlx5_0", uint8_t port = 1) {
    return umad::open(environment(), device, port, {});
  }

  MadTransport& open() {
    if (fake.live().phase == PortPhase::kUnknown) fake.addPort(portOf("mlx5_0", 1));
    umad::Opened opened = tryOpen();
    if (opened.transport == nullptr) throw Failure("not opened: " + opened.message);
    transport = std::move(opened.transport);
    transport->start(waker);
    return *transport;
  }

  void useEvents() { script = std::make_shared<ScriptedEvents::Script>(); }

  /** Polls for a real while until `done`, since a real thread is reading. */
  template <typename Done>
  bool pollUntil(Done done) {
    for (int i = 0; i < 1000; ++i) {
      transport->poll(now, listener);
      if (done()) return true;
      std::this_thread::sleep_for(milliseconds{1});
    }
    return false;
  }

  /** Lets one poll interval pass and everything asked in it be answered. */
  void look() {
    now += milliseconds{250};
    const int before = fake.smps();
    transport->poll(now, listener);
    if (fake.smps() == before) return;
    for (int i = 0; i < 1000 && !fake.drained(); ++i) {
      std::this_thread::sleep_for(milliseconds{1});
    }
    std::this_thread::sleep_for(milliseconds{2});
    transport->poll(now, listener);
  }

  void watch() {
    transport->watch(true);
    transport->poll(now, listener);
  }

  void checkEvent(ResetReason reason) {
    CHECK_EQ(listener.events.size(), size_t{1});
    CHECK_EQ(listener.events[0].reason, reason);
    listener.events.clear();
  }

  void close() {
    transport->stop();
    transport->stop();
    transport.reset();
    for (const std::string& what : fake.violations()) throw Failure(what);
    CHECK(!fake.portOpen());
  }

  StrictFakeUmad fake;
  std::shared_ptr<ScriptedEvents::Script> script;
  CountingWaker waker;
  Listener listener;
  Instant now{Duration{1'000'000}};
  std::unique_ptr<MadTransport> transport;
};

void checkRefused(const umad::Opened& opened, int status,
                  std::initializer_list<const char*> words) {
  CHECK(opened.transport == nullptr);
  CHECK_EQ(opened.status, status);
  for (const char* word : words) {
    if (opened.message.find(word) == std::string::npos) {
      throw Failure("\"" + opened.message + "\" does not say \"" + word + "\"");
    }
  }
}

TEST("umad open: no device at all") {
  Bench bench;
  checkRefused(bench.tryOpen("mlx5_7", 1), kENODEV, {"no RDMA device mlx5_7", "none"});
}

TEST("umad open: the library cannot start") {
  Bench bench;
  bench.fake.failInit();
  checkRefused(bench.tryOpen(), kENODEV, {"ib_umad", "modprobe"});
}

TEST("umad open: an unknown device or port lists what exists") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  bench.fake.addPort(portOf("mlx5_0", 2));
  checkRefused(bench.tryOpen("mlx4_0", 1), kENODEV, {"mlx4_0", "mlx5_0 port 1", "mlx5_0 port 2"});
  checkRefused(bench.tryOpen("mlx5_0", 3), kENODEV,
               {"no port 3", "mlx5_0 port 1 (InfiniBand, active)"});
}

TEST("umad open: an Ethernet port is referred to rdmacm") {
  Bench bench;
  PortState ethernet = activePort();
  ethernet.linkLayer = LinkLayer::kEthernet;
  bench.fake.addPort(portOf("mlx5_0", 1, ethernet));
  checkRefused(bench.tryOpen(), kEOPNOTSUPP, {"Ethernet", "rdmacm"});
}

TEST("umad open: a port that is not active is open, and says so") {
  Bench bench;
  PortState down = activePort();
  down.phase = PortPhase::kDown;
  bench.fake.addPort(portOf("mlx5_0", 1, down));
  bench.transport = bench.tryOpen().transport;
  CHECK(bench.transport != nullptr);
  CHECK_EQ(bench.transport->port().phase, PortPhase::kDown);
  bench.close();
}

TEST("umad open: the port itself is believed, not a stale sysfs") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  PortState stale = activePort();
  stale.phase = PortPhase::kDown;
  bench.fake.setSysfs("mlx5_0", 1, stale);
  bench.fake.setLive(activePort());
  bench.transport = bench.tryOpen().transport;
  CHECK(bench.transport != nullptr);
  CHECK(bench.transport->port().active());
  bench.close();
}

TEST("umad open: no permission names the node and what helps") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  bench.fake.failOpen(EACCES);
  checkRefused(bench.tryOpen(), kEACCES, {"/dev/infiniband/umad", "root", "udev", "GROUP="});
  bench.fake.failOpen(EPERM);
  checkRefused(bench.tryOpen(), kEACCES, {"permission"});
  bench.fake.failOpen(ENOENT);
  checkRefused(bench.tryOpen(), kENODEV, {"/dev/infiniband/umad", "modprobe ib_umad"});
  bench.fake.failOpen(EBUSY);
  checkRefused(bench.tryOpen(), kEBUSY, {"another program"});
  bench.fake.failOpen(EMFILE);
  checkRefused(bench.tryOpen(), kEMFILE, {"ulimit -n"});
  bench.fake.failOpen(EPROTO);
  checkRefused(bench.tryOpen(), kEIO, {"Protocol error"});
  // A failed open gives the claim back.
  bench.fake.failOpen(0);
  bench.transport = bench.tryOpen().transport;
  CHECK(bench.transport != nullptr);
  bench.close();
}

TEST("umad open: no SA agent") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  bench.fake.refuseClass(0x03);
  checkRefused(bench.tryOpen(), kEIO, {"agent"});
  CHECK(!bench.fake.portOpen());
  CHECK(bench.fake.violations().empty());
}

TEST("umad discover lists every port of every device") {
  Bench bench;
  CHECK_EQ(umad::discover(*bench.fake.library()).ports.size(), size_t{0});
  PortState ethernet = activePort();
  ethernet.linkLayer = LinkLayer::kEthernet;
  bench.fake.addPort(portOf("mlx5_0", 1));
  bench.fake.addPort(portOf("mlx5_0", 2, ethernet));
  bench.fake.addPort(portOf("rxe0", 1, ethernet));
  const umad::Discovery found = umad::discover(*bench.fake.library());
  CHECK_EQ(found.status, 0);
  CHECK_EQ(found.ports.size(), size_t{3});
  CHECK_EQ(found.ports[0].state.lid, 3);
  CHECK_EQ(found.ports[0].state.smSl, 2);
  CHECK(found.ports[0].state.gid == activePort().gid);
  CHECK(found.ports[0].state.pkeys == activePort().pkeys);
  CHECK_EQ(found.ports[1].state.linkLayer, LinkLayer::kEthernet);
  CHECK_EQ(found.ports[2].device, std::string("rxe0"));
}

TEST("umad discover: the GID table is that of sysfs, or the port's one GID where there is none") {
  char root[] = "/tmp/rxib-sysfs-XXXXXX";
  CHECK(mkdtemp(root) != nullptr);
  const std::string base = root;
  const PortInfo port = portOf("mlx5_0", 1);
  CHECK(umad::gidTable(port, base) == std::vector<Gid>{port.state.gid});
  std::filesystem::create_directories(base + "/mlx5_0/ports/1/gids");
  std::ofstream(base + "/mlx5_0/ports/1/gids/0") << "fe80:0:0:0:0002:c903:0000:0001\n";
  std::ofstream(base + "/mlx5_0/ports/1/gids/1") << "fe80:0:0:0:0002:c903:0000:0002\n";
  const std::vector<Gid> table = umad::gidTable(port, base);
  CHECK_EQ(table.size(), size_t{2});
  CHECK_EQ(table[1].bytes[15], 2);
  std::filesystem::remove_all(base);
}

TEST("umad open: without descriptors nothing is found, and EMFILE says why") {
  Bench bench;
  {
    FewDescriptors few;
    const umad::Opened opened = bench.tryOpen();
    CHECK_EQ(opened.status, kEMFILE);
    CHECK(opened.message.find("ulimit -n") != std::string::npos);
    bench.fake.failInit();
    CHECK_EQ(umad::discover(*bench.fake.library()).status, kEMFILE);
  }
  CHECK_EQ(bench.tryOpen().status, kENODEV);
}

TEST("umad claim: a port on its way out is waited for") {
  auto first = umad::PortClaim::take("claimed", 1);
  CHECK(first != nullptr);
  CHECK(umad::PortClaim::take("claimed", 2) != nullptr);
  std::thread leaving([&] {
    std::this_thread::sleep_for(milliseconds{30});
    first.reset();
  });
  auto second = umad::PortClaim::take("claimed", 1);
  leaving.join();
  CHECK(second != nullptr);
}

TEST("umad claim: another copy's port is refused at once") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  const int rival = umad::bindClaimName(umad::claimName("mlx5_0", 1));
  CHECK(rival >= 0);
  const Instant before = steadyNow();
  const umad::Opened opened = bench.tryOpen();
  close(rival);
  checkRefused(opened, kEBUSY, {"another copy", "mlx5_0"});
  CHECK(steadyNow() - before < milliseconds{500});
  bench.transport = bench.tryOpen().transport;
  CHECK(bench.transport != nullptr);
  bench.close();
}

TEST("umad send: the envelope is what the kernel and the SA expect") {
  Bench bench;
  MadTransport& transport = bench.open();
  CHECK_EQ(transport.send(request(0x11223344), 7, 5, milliseconds{1000}), 0);
  const auto sent = bench.fake.sent();
  CHECK_EQ(sent.size(), size_t{1});
  CHECK_EQ(sent[0].lid, 7u);
  CHECK_EQ(sent[0].qpn, 1u);
  CHECK_EQ(sent[0].qkey, 0x80010000u);
  CHECK_EQ(sent[0].sl, 5);
  CHECK_EQ(sent[0].pkeyIndex, 35);
  CHECK_EQ(sent[0].timeoutMs, 2000);
  CHECK_EQ(sent[0].retries, 0);
  CHECK(!sent[0].grh);
  CHECK_EQ(static_cast<uint32_t>(sent[0].transactionId()), 0x11223344u);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: an attempt's timeout is rounded up and never the kernel's to end") {
  Bench bench;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, std::chrono::microseconds{1});
  transport.send(request(2), 1, 0, std::chrono::microseconds{333'333});
  transport.send(request(3), 1, 0, Duration::max());
  const auto sent = bench.fake.sent();
  CHECK_EQ(sent[0].timeoutMs, 1001);
  CHECK_EQ(sent[1].timeoutMs, 1334);
  CHECK(sent[2].timeoutMs > 1'000'000);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: the limited member's key where there is no full one, else index 0") {
  Bench bench;
  PortState limited = activePort();
  limited.pkeys.assign(3, 0);
  limited.pkeys[2] = 0x7fff;
  bench.fake.addPort(portOf("mlx5_0", 1, limited));
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1});
  CHECK_EQ(bench.fake.sent()[0].pkeyIndex, 2);
  PortState none = limited;
  none.pkeys[2] = 0x8003;
  bench.fake.setLive(none);
  transport.watch(true);
  transport.send(request(2), 1, 0, milliseconds{1});
  CHECK_EQ(bench.fake.sent()[1].pkeyIndex, 0);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: the key's index is looked up anew for each request") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.watch();
  PortState moved = activePort();
  moved.pkeys[35] = 0;
  moved.pkeys[1] = 0xffff;
  bench.fake.setLive(moved);
  bench.look();
  transport.send(request(1), 1, 0, milliseconds{1});
  CHECK_EQ(bench.fake.sent()[0].pkeyIndex, 1);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: a GRH to the SA's well-known GID where the port requires it") {
  Bench bench;
  bench.useEvents();
  bench.script->needsGrh = true;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1});
  const auto sent = bench.fake.sent()[0];
  CHECK(sent.grh);
  const std::vector<uint8_t> sa{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2};
  CHECK(sent.gid == sa);
  CHECK(sent.hopLimit >= 1);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: a port without a LID sends with a GRH") {
  Bench bench;
  PortState lidless = activePort();
  lidless.lid = 0;
  bench.fake.addPort(portOf("mlx5_0", 1, lidless));
  bench.open().send(request(1), 1, 0, milliseconds{1});
  CHECK(bench.fake.sent()[0].grh);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: the older header is honoured as well") {
  Bench bench(56);
  PortState state = activePort();
  state.pkeys = {0xffff};
  bench.fake.addPort(portOf("mlx5_0", 1, state));
  MadTransport& transport = bench.open();
  CHECK_EQ(transport.send(request(9), 1, 0, milliseconds{1}), 0);
  std::vector<uint8_t> answer = bench.fake.sent()[0].mad;
  answer[3] = 0x81;
  CHECK(bench.fake.deliver(answer, 1));
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 1; }));
  CHECK(bench.listener.mads[0].bytes == answer);
  bench.close();
}

TEST("umad send: a transaction that is still pending is refused, and said so") {
  Bench bench;
  MadTransport& transport = bench.open();
  CHECK_EQ(transport.send(request(5), 1, 0, milliseconds{1}), 0);
  CHECK_EQ(transport.send(request(5), 1, 0, milliseconds{1}), kEINVAL);
  CHECK_EQ(transport.send(request(6), 0, 0, milliseconds{1}), kEINVAL);
  CHECK_EQ(transport.send(request(6), 1, 0, milliseconds{1}), 0);
  bench.fake.expire();
  CHECK(bench.pollUntil([&] { return bench.fake.drained(); }));
  CHECK_EQ(transport.send(request(5), 1, 0, milliseconds{1}), 0);
  bench.fake.expire();
  bench.close();
}

TEST("umad send: nobody waits for an answer to an answer") {
  Bench bench;
  bench.open().send(request(5, 0x86), 1, 0, milliseconds{100});
  CHECK_EQ(bench.fake.sent()[0].timeoutMs, 0);
  CHECK_EQ(bench.fake.pending(), size_t{0});
  bench.close();
}

TEST("umad receive: an answer arrives with its source, and wakes") {
  Bench bench;
  MadTransport& transport = bench.open();
  const int wakes = bench.waker.count.load();
  transport.send(request(0xabcdef01), 1, 0, milliseconds{1000});
  std::vector<uint8_t> answer = bench.fake.sent()[0].mad;
  answer[3] = 0x81;
  CHECK(bench.fake.deliver(answer, 0x1234));
  CHECK(bench.pollUntil([&] { return !bench.listener.mads.empty(); }));
  CHECK_EQ(bench.listener.mads[0].sourceLid, 0x1234);
  CHECK(bench.listener.mads[0].bytes == answer);
  uint64_t transactionId = 0;
  codec::readTransactionId(bench.listener.mads[0].bytes.data(), 256, transactionId);
  CHECK_EQ(static_cast<uint32_t>(transactionId), 0xabcdef01u);
  CHECK(bench.waker.count > wakes);
  // The kernel has ended the transaction with it, so a duplicate gets no further.
  CHECK(!bench.fake.deliver(answer, 1));
  bench.close();
}

std::vector<uint8_t> answerTo(std::vector<uint8_t> request) {
  request[3] = 0x81;
  return request;
}

/** Polls and watches on the thread that received, as a driver does that is lent it. */
struct LentThread final : Waker {
  explicit LentThread(Bench& over) : bench(over) {}
  void wake() override {}
  Instant wakeHere(Duration reach) override {
    thread = std::this_thread::get_id();
    bench.transport->poll(bench.now, bench.listener);
    mads = bench.listener.mads.size();
    if (mads == 0) return kNever;
    if (std::exchange(again, false)) return after(steadyNow(), reach);
    if (done) return kNever;
    if (atFirstMad) atFirstMad();
    bench.transport->watch(true);
    lid = bench.transport->port().lid;
    done = true;
    return kNever;
  }
  Bench& bench;
  bool again = false;  // asks to be run once more, when nothing need have come
  std::function<void()> atFirstMad;
  std::atomic<size_t> mads{0};
  std::thread::id thread;
  uint16_t lid = 0;
  std::atomic<bool> done{false};
};

TEST("umad receive: the thread that reads is lent for the run, and can look at the port in it") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  umad::Opened opened = bench.tryOpen();
  bench.transport = std::move(opened.transport);
  LentThread lent(bench);
  bench.transport->start(lent);
  PortState changed = activePort();
  changed.lid = 99;
  bench.fake.setLive(changed);
  bench.transport->send(request(1), 1, 0, milliseconds{1000});
  CHECK(bench.fake.deliver(answerTo(bench.fake.sent()[0].mad), 1));
  for (int i = 0; i < 1000 && !lent.done; ++i) std::this_thread::sleep_for(milliseconds{1});
  CHECK(lent.done);
  CHECK(lent.thread != std::this_thread::get_id());
  // Nobody else reads while that thread waits for the port's answer.
  CHECK_EQ(lent.lid, 99);
  bench.close();
}

TEST("umad receive: a thread that is lent comes back when it is asked to, though nothing comes") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  umad::Opened opened = bench.tryOpen();
  bench.transport = std::move(opened.transport);
  LentThread lent(bench);
  lent.again = true;
  bench.transport->start(lent);
  bench.transport->send(request(1), 1, 0, milliseconds{1000});
  CHECK(bench.fake.deliver(answerTo(bench.fake.sent()[0].mad), 1));
  for (int i = 0; i < 1000 && !lent.done; ++i) std::this_thread::sleep_for(milliseconds{1});
  CHECK(lent.done);
  CHECK_EQ(lent.mads.load(), size_t{1});
  bench.close();
}

TEST("umad receive: what comes while the lent thread looks at the port is dealt with, too") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  umad::Opened opened = bench.tryOpen();
  bench.transport = std::move(opened.transport);
  LentThread lent(bench);
  bench.transport->start(lent);
  bench.transport->send(request(1), 1, 0, milliseconds{1000});
  bench.transport->send(request(2), 1, 0, milliseconds{1000});
  lent.atFirstMad = [&] { bench.fake.deliver(answerTo(bench.fake.sent()[1].mad), 1); };
  CHECK(bench.fake.deliver(answerTo(bench.fake.sent()[0].mad), 1));
  for (int i = 0; i < 1000 && lent.mads < 2; ++i) std::this_thread::sleep_for(milliseconds{1});
  CHECK_EQ(lent.mads.load(), size_t{2});
  bench.close();
}

TEST("umad receive: the lent thread does not turn in circles where the device fails meanwhile") {
  Bench bench;
  bench.fake.addPort(portOf("mlx5_0", 1));
  umad::Opened opened = bench.tryOpen();
  bench.transport = std::move(opened.transport);
  LentThread lent(bench);
  bench.transport->start(lent);
  bench.fake.muteSmps(true);
  bench.transport->send(request(1), 1, 0, milliseconds{1000});
  std::thread remover;
  lent.atFirstMad = [&] {
    const int before = bench.fake.smps();
    remover = std::thread([&bench, before] {
      while (bench.fake.smps() == before) std::this_thread::yield();
      bench.fake.removeDevice("mlx5_0");
    });
  };
  CHECK(bench.fake.deliver(answerTo(bench.fake.sent()[0].mad), 1));
  for (int i = 0; i < 1000 && !lent.done; ++i) std::this_thread::sleep_for(milliseconds{1});
  CHECK(lent.done);
  remover.join();
  CHECK(bench.fake.receives() < 100);
  bench.close();
}

TEST("umad receive: answers come in the order of their arrival") {
  Bench bench;
  MadTransport& transport = bench.open();
  for (uint32_t i = 0; i < 50; ++i) transport.send(request(i), 1, 0, milliseconds{1000});
  const auto sent = bench.fake.sent();
  for (size_t i = 50; i-- > 0;) bench.fake.deliver(sent[i].mad, 1);
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 50; }));
  for (uint32_t i = 0; i < 50; ++i) {
    CHECK_EQ(codec::read32(bench.listener.mads[i].bytes.data() + 12), 49 - i);
  }
  bench.close();
}

TEST("umad receive: the kernel's report of a timeout is consumed") {
  Bench bench;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1});
  transport.send(request(2), 1, 0, milliseconds{1});
  std::vector<uint8_t> answer = bench.fake.sent()[1].mad;
  bench.fake.deliver(answer, 1);
  bench.fake.expire();
  CHECK(bench.pollUntil([&] { return bench.fake.drained() && !bench.listener.mads.empty(); }));
  std::this_thread::sleep_for(milliseconds{5});
  transport.poll(bench.now, bench.listener);
  CHECK_EQ(bench.listener.mads.size(), size_t{1});
  CHECK(bench.listener.events.empty());
  bench.close();
}

TEST("umad receive: an answer without its trailing zeros is filled up, a truncated one is not") {
  Bench bench;
  MadTransport& transport = bench.open();
  for (uint32_t i = 0; i < 4; ++i) transport.send(request(i), 1, 0, milliseconds{1000});
  const auto sent = bench.fake.sent();
  auto answer = [&](size_t index, size_t length) {
    std::vector<uint8_t> mad = sent[index].mad;
    mad[3] = 0x81;
    mad[45] = 7;
    mad.resize(length);
    bench.fake.deliver(mad, 1);
  };
  answer(0, 56 + 56);
  answer(1, 56 + 55);
  answer(2, 24);
  answer(3, 300);
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 4; }));
  CHECK_EQ(bench.listener.mads[0].bytes.size(), size_t{256});
  CHECK_EQ(bench.listener.mads[1].bytes.size(), size_t{111});
  CHECK_EQ(bench.listener.mads[2].bytes.size(), size_t{24});
  CHECK_EQ(bench.listener.mads[3].bytes.size(), size_t{300});
  bench.close();
}

TEST("umad receive: an oversized message does not block what comes behind it") {
  Bench bench;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1000});
  transport.send(request(2), 1, 0, milliseconds{1000});
  const auto sent = bench.fake.sent();
  std::vector<uint8_t> large = sent[0].mad;
  large.resize(100'000);
  bench.fake.deliver(large, 1);
  bench.fake.deliver(sent[1].mad, 1);
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 2; }));
  CHECK_EQ(bench.listener.mads[0].bytes.size(), size_t{100'000});
  CHECK_EQ(bench.listener.mads[1].bytes.size(), size_t{256});
  bench.close();
}

TEST("umad port: looked at only while it is watched") {
  Bench bench;
  MadTransport& transport = bench.open();
  const int opening = bench.fake.smps();
  CHECK(opening > 0);
  CHECK(transport.poll(bench.now, bench.listener) == kNever);
  bench.look();
  CHECK_EQ(bench.fake.smps(), opening);
  bench.watch();
  const int watching = bench.fake.smps();
  CHECK(watching > opening);
  CHECK(transport.poll(bench.now, bench.listener) == bench.now + milliseconds{250});
  bench.look();
  CHECK(bench.fake.smps() > watching);
  transport.watch(false);
  const int ended = bench.fake.smps();
  bench.look();
  bench.look();
  CHECK_EQ(bench.fake.smps(), ended);
  bench.close();
}

TEST("umad port: watch() shows what happened before it, without an event") {
  Bench bench;
  MadTransport& transport = bench.open();
  PortState changed = activePort();
  changed.lid = 99;
  changed.smLid = 5;
  changed.pkeys[3] = 0x8777;
  bench.fake.setLive(changed);
  CHECK_EQ(transport.port().lid, 3);
  bench.watch();
  CHECK_EQ(transport.port().lid, 99);
  CHECK_EQ(transport.port().smLid, 5);
  CHECK(transport.port().pkeys == changed.pkeys);
  bench.look();
  CHECK(bench.listener.events.empty());
  bench.close();
}

TEST("umad port: each change is one event, with the state already changed") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.watch();
  PortState state = activePort();
  auto changeTo = [&] {
    bench.fake.setLive(state);
    bench.look();
  };
  state.lid = 44;
  changeTo();
  bench.checkEvent(ResetReason::kLidChange);
  CHECK_EQ(transport.port().lid, 44);
  state.smLid = 45;
  changeTo();
  bench.checkEvent(ResetReason::kSmChange);
  state.smSl = 7;
  changeTo();
  bench.checkEvent(ResetReason::kSmChange);
  CHECK_EQ(transport.port().smSl, 7);
  state.gid.bytes[7] = 0x42;
  changeTo();
  bench.checkEvent(ResetReason::kGidChange);
  CHECK(transport.port().gid == state.gid);
  state.phase = PortPhase::kDown;
  changeTo();
  bench.checkEvent(ResetReason::kPortError);
  // While it is down nothing more can be lost.
  state.lid = 46;
  state.smLid = 47;
  state.phase = PortPhase::kInitialize;
  changeTo();
  CHECK(bench.listener.events.empty());
  CHECK_EQ(transport.port().lid, 46);
  state.phase = PortPhase::kActive;
  changeTo();
  bench.checkEvent(ResetReason::kNone);
  changeTo();
  CHECK(bench.listener.events.empty());
  bench.close();
}

TEST("umad port: a P_Key change carries the table before it, of every block") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.watch();
  PortState state = activePort();
  state.pkeys[38] = 0x8002;
  bench.fake.setLive(state);
  bench.look();
  CHECK_EQ(bench.listener.events.size(), size_t{1});
  CHECK_EQ(bench.listener.events[0].reason, ResetReason::kPkeyChange);
  CHECK(bench.listener.events[0].pkeysBefore == activePort().pkeys);
  CHECK(transport.port().pkeys == state.pkeys);
  bench.close();
}

TEST("umad port: of several changes the first in rank is named") {
  Bench bench;
  bench.open();
  bench.watch();
  PortState state = activePort();
  state.pkeys[38] = 0x8002;
  state.gid.bytes[7] = 1;
  bench.fake.setLive(state);
  bench.look();
  bench.checkEvent(ResetReason::kGidChange);
  state.pkeys[38] = 0x8003;
  state.gid.bytes[7] = 2;
  state.smLid = 2;
  bench.fake.setLive(state);
  bench.look();
  bench.checkEvent(ResetReason::kSmChange);
  state.smLid = 3;
  state.lid = 9;
  bench.fake.setLive(state);
  bench.look();
  bench.checkEvent(ResetReason::kLidChange);
  state.lid = 10;
  state.phase = PortPhase::kArmed;
  bench.fake.setLive(state);
  bench.look();
  bench.checkEvent(ResetReason::kPortError);
  bench.close();
}

TEST("umad port: a look without an answer proves nothing") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.watch();
  bench.fake.muteSmps(true);
  PortState state = activePort();
  state.lid = 9;
  bench.fake.setLive(state);
  bench.look();
  for (int i = 0; i < 3; ++i) {
    bench.now += milliseconds{250};
    transport.poll(bench.now, bench.listener);
  }
  CHECK(bench.listener.events.empty());
  CHECK_EQ(transport.port().lid, 3);
  bench.fake.muteSmps(false);
  bench.look();
  bench.look();
  bench.checkEvent(ResetReason::kLidChange);
  bench.close();
}

TEST("umad port: where QP0 is out of reach sysfs is looked at") {
  Bench bench;
  bench.fake.refuseClass(0x81);
  MadTransport& transport = bench.open();
  bench.watch();
  PortState state = activePort();
  state.smLid = 6;
  bench.fake.setSysfs("mlx5_0", 1, state);
  bench.look();
  bench.checkEvent(ResetReason::kSmChange);
  CHECK_EQ(transport.port().smLid, 6);
  CHECK_EQ(bench.fake.smps(), 0);
  bench.close();
}

TEST("umad port: a node that never answers SMPs is read from sysfs too") {
  Bench bench;
  bench.fake.muteSmps(true);
  bench.open();
  bench.watch();
  PortState state = activePort();
  state.lid = 6;
  bench.fake.setSysfs("mlx5_0", 1, state);
  bench.look();
  bench.checkEvent(ResetReason::kLidChange);
  bench.close();
}

TEST("umad port: verbs events need no looking") {
  Bench bench;
  bench.useEvents();
  MadTransport& transport = bench.open();
  CHECK(bench.script->started);
  bench.watch();
  CHECK(transport.poll(bench.now, bench.listener) == kNever);
  CHECK_EQ(bench.fake.smps(), 0);
  PortState state = activePort();
  auto report = [&](std::initializer_list<rdma::PortReport> reports) {
    bench.fake.setSysfs("mlx5_0", 1, state);
    bench.script->reports.assign(reports);
    transport.poll(bench.now, bench.listener);
  };
  state.lid = 12;
  report({rdma::PortReport::kLidChange});
  bench.checkEvent(ResetReason::kLidChange);
  CHECK_EQ(transport.port().lid, 12);
  state.smLid = 13;
  report({rdma::PortReport::kSmChange});
  bench.checkEvent(ResetReason::kSmChange);
  report({rdma::PortReport::kClientReregister});
  bench.checkEvent(ResetReason::kClientReregister);
  report({rdma::PortReport::kClientReregister, rdma::PortReport::kSmChange,
          rdma::PortReport::kLidChange});
  bench.checkEvent(ResetReason::kLidChange);
  state.gid.bytes[7] = 3;
  report({rdma::PortReport::kGidChange});
  bench.checkEvent(ResetReason::kGidChange);
  // Another index of the table than ours.
  report({rdma::PortReport::kGidChange});
  CHECK(bench.listener.events.empty());
  const std::vector<uint16_t> before = state.pkeys;
  state.pkeys[2] = 0x8009;
  report({rdma::PortReport::kPkeyChange});
  CHECK(bench.listener.events[0].pkeysBefore == before);
  bench.checkEvent(ResetReason::kPkeyChange);
  bench.close();
  CHECK(bench.script->stopped);
}

TEST("umad port: verbs events of a port that goes down and comes back") {
  Bench bench;
  bench.useEvents();
  MadTransport& transport = bench.open();
  PortState state = activePort();
  // The event may be ahead of sysfs.
  bench.script->reports = {rdma::PortReport::kPortError};
  transport.poll(bench.now, bench.listener);
  bench.checkEvent(ResetReason::kPortError);
  CHECK(!transport.port().active());
  bench.script->reports = {rdma::PortReport::kPortActive};
  transport.poll(bench.now, bench.listener);
  bench.checkEvent(ResetReason::kNone);
  CHECK(transport.port().active());
  bench.script->reports = {rdma::PortReport::kPortError, rdma::PortReport::kLidChange,
                           rdma::PortReport::kPortActive};
  transport.poll(bench.now, bench.listener);
  CHECK_EQ(bench.listener.events.size(), size_t{2});
  CHECK_EQ(bench.listener.events[0].reason, ResetReason::kPortError);
  CHECK_EQ(bench.listener.events[1].reason, ResetReason::kNone);
  bench.close();
}

TEST("umad port: a fatal device event is a removal, once") {
  Bench bench;
  bench.useEvents();
  MadTransport& transport = bench.open();
  bench.script->reports = {rdma::PortReport::kDeviceFatal, rdma::PortReport::kDeviceFatal};
  transport.poll(bench.now, bench.listener);
  transport.poll(bench.now, bench.listener);
  bench.checkEvent(ResetReason::kDeviceRemoved);
  CHECK_EQ(transport.send(request(1), 1, 0, milliseconds{1}), kENODEV);
  CHECK(!transport.port().active());
  bench.close();
}

TEST("umad port: a device that is taken away is a removal, without verbs too") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.watch();
  transport.send(request(1), 1, 0, milliseconds{1000});
  bench.fake.removeDevice("mlx5_0");
  CHECK(bench.pollUntil([&] { return !bench.listener.events.empty(); }));
  transport.poll(bench.now, bench.listener);
  bench.checkEvent(ResetReason::kDeviceRemoved);
  CHECK_EQ(transport.send(request(2), 1, 0, milliseconds{1}), kENODEV);
  transport.watch(false);
  transport.watch(true);
  bench.close();
}

std::vector<uint8_t> reportOf(uint32_t transactionId) {
  codec::MadBytes bytes = request(transactionId, 0x06);
  codec::write16(bytes.data() + 16, 0x02);
  return {bytes.begin(), bytes.end()};
}

TEST("umad reports: come to an agent of their own, as long as they are wanted") {
  Bench bench;
  MadTransport& transport = bench.open();
  const size_t usual = bench.fake.agents();
  CHECK(!bench.fake.deliverReport(reportOf(1), 1));
  CHECK_EQ(transport.wantReports(true), kOk);
  CHECK_EQ(transport.wantReports(true), kOk);
  CHECK_EQ(bench.fake.agents(), usual + 1);
  CHECK(bench.fake.deliverReport(reportOf(2), 1));
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 1; }));
  CHECK_EQ(int{bench.listener.mads[0].bytes[3]}, 0x06);
  CHECK_EQ(bench.listener.mads[0].sourceLid, 1);
  CHECK_EQ(transport.wantReports(false), kOk);
  CHECK(bench.pollUntil([&] { return bench.fake.agents() == usual; }));
  CHECK(!bench.fake.deliverReport(reportOf(3), 1));
  bench.close();
}

TEST("umad reports: wanted again at once, they are not given up in between") {
  Bench bench;
  MadTransport& transport = bench.open();
  for (int i = 0; i < 20; ++i) {
    CHECK_EQ(transport.wantReports(true), kOk);
    CHECK(bench.fake.deliverReport(reportOf(10), 1));
    CHECK_EQ(transport.wantReports(false), kOk);
  }
  bench.close();
}

TEST("umad reports: given up only when no answer is owed, or the simulator crashes") {
  Bench bench;
  MadTransport& transport = bench.open();
  const size_t usual = bench.fake.agents();
  CHECK_EQ(transport.wantReports(true), kOk);
  CHECK_EQ(transport.send(request(7), 1, 0, milliseconds{100}), kOk);
  CHECK_EQ(transport.wantReports(false), kOk);
  const int before = bench.fake.receives();
  CHECK(bench.pollUntil([&] { return bench.fake.receives() > before + 2; }));
  CHECK_EQ(bench.fake.agents(), usual + 1);
  bench.fake.expire();
  CHECK(bench.pollUntil([&] { return bench.fake.agents() == usual; }));
  bench.close();
}

TEST("umad reports: EBUSY while another program has them, and everything else goes on") {
  Bench bench;
  MadTransport& transport = bench.open();
  bench.fake.holdReports(true);
  CHECK_EQ(transport.wantReports(true), kEBUSY);
  CHECK_EQ(transport.send(request(5), 1, 0, milliseconds{100}), kOk);
  bench.fake.expire();
  bench.fake.holdReports(false);
  CHECK_EQ(transport.wantReports(true), kOk);
  // Closed while they are wanted, and while they are just not wanted any more.
  bench.close();
  bench.open();
  CHECK_EQ(bench.transport->wantReports(true), kOk);
  CHECK_EQ(bench.transport->wantReports(false), kOk);
  bench.close();
}

TEST("umad reports: count as no answer that is owed") {
  Bench bench;
  MadTransport& transport = bench.open();
  CHECK_EQ(transport.wantReports(true), kOk);
  CHECK_EQ(transport.send(request(7), 1, 0, milliseconds{100}), kOk);
  CHECK(bench.fake.deliverReport(reportOf(1), 1));
  CHECK(bench.pollUntil([&] { return bench.listener.mads.size() == 1; }));
  // The answer that is owed comes while the port is closed, and is waited for.
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds{30});
    const codec::MadBytes answer = request(7, 0x81);
    std::vector<uint8_t> mad(answer.begin(), answer.end());
    codec::write64(mad.data() + 8, bench.fake.sent()[0].transactionId());
    bench.fake.deliver(std::move(mad), 1);
  });
  bench.transport->stop();
  late.join();
  CHECK_EQ(bench.fake.pending(), size_t{0});
  bench.close();
}

TEST("umad stop: with requests outstanding and answers on their way") {
  for (int round = 0; round < 20; ++round) {
    Bench bench;
    MadTransport& transport = bench.open();
    bench.watch();
    for (uint32_t i = 0; i < 64; ++i) transport.send(request(i), 1, 0, milliseconds{1000});
    const auto sent = bench.fake.sent();
    std::thread wire([&] {
      for (const auto& one : sent) bench.fake.deliver(one.mad, 1);
    });
    transport.stop();
    wire.join();
    CHECK(bench.fake.drained());
    CHECK_EQ(transport.send(request(99), 1, 0, milliseconds{1}), kEIO);
    CHECK(transport.poll(bench.now, bench.listener) == kNever);
    bench.close();
  }
}

TEST("umad stop: an SA that never answers does not hold it up") {
  Bench bench;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1000});
  const Instant before = steadyNow();
  transport.stop();
  CHECK(steadyNow() - before < milliseconds{400});
  bench.close();
}

TEST("umad stop: nothing wakes afterwards") {
  Bench bench;
  MadTransport& transport = bench.open();
  transport.send(request(1), 1, 0, milliseconds{1000});
  bench.fake.expire();
  transport.stop();
  const int wakes = bench.waker.count.load();
  std::this_thread::sleep_for(milliseconds{10});
  CHECK_EQ(bench.waker.count.load(), wakes);
  bench.close();
}

TEST("umad open: a port can be opened again once it is closed") {
  Bench bench;
  for (int i = 0; i < 5; ++i) {
    bench.open();
    bench.close();
  }
}

}  // namespace
}  // namespace rxib::test
