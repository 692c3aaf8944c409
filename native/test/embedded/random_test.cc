// Long random runs: against a plain model of membership on a manual clock, and with real threads.
#include "embedded/random.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "bench_fabric.h"
#include "check.h"

using namespace rxib;
using namespace rxib::codec;
using namespace rxib::embedded::test;
using namespace std::chrono_literals;
using rxib::embedded::Fabric;
using rxib::embedded::FabricOptions;
using rxib::embedded::Random;

namespace {

/** Membership as the specification tells it, without OpenSM's miscount. */
class Model {
 public:
  bool join(uint32_t mgid, int port, uint8_t bits) {
    auto& members = groups_[mgid];
    if (bits == 0 || (members.empty() && (bits & 9) == 0)) {
      if (members.empty()) groups_.erase(mgid);
      return false;
    }
    members[port] |= bits;
    return true;
  }
  bool leave(uint32_t mgid, int port, uint8_t bits) {
    const uint8_t held = state(mgid, port);
    if (bits == 0 || (held & bits) != bits) return false;
    auto& members = groups_[mgid];
    members[port] &= static_cast<uint8_t>(~bits);
    if (members[port] == 0) members.erase(port);
    forgetIfDead(mgid);
    return true;
  }
  void forget(int port) {
    for (uint32_t mgid = 0; mgid < 64; ++mgid) {
      if (state(mgid, port) != 0) leave(mgid, port, state(mgid, port));
    }
  }
  void clear() { groups_.clear(); }
  uint8_t state(uint32_t mgid, int port) const {
    const auto group = groups_.find(mgid);
    if (group == groups_.end()) return 0;
    const auto member = group->second.find(port);
    return member == group->second.end() ? uint8_t{0} : member->second;
  }
  bool exists(uint32_t mgid) const { return groups_.count(mgid) != 0; }
  size_t size() const { return groups_.size(); }

 private:
  void forgetIfDead(uint32_t mgid) {
    for (const auto& member : groups_[mgid]) {
      if ((member.second & 9) != 0) return;
    }
    groups_.erase(mgid);
  }

  std::map<uint32_t, std::map<int, uint8_t>> groups_;
};

// Bits of which a port holds at most one full one: there OpenSM counts right.
constexpr uint8_t kBits[] = {1, 2, 4, 5, 6, 7};

}  // namespace

TEST("embedded random: membership follows a plain model") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    FabricOptions options;
    options.ports = 3;
    Bench bench(options);
    Model model;
    Random random(seed);
    for (int step = 0; step < 3000; ++step) {
      const uint32_t mgid = static_cast<uint32_t>(random.next() % 8);
      const int port = static_cast<int>(random.next() % 3);
      Client& client = *bench.clients[static_cast<size_t>(port)];
      const uint8_t bits = kBits[random.next() % 6];
      switch (random.next() % 16) {
        case 0:
          bench.fabric.restartSm();
          model.clear();
          break;
        case 1:
          bench.fabric.portDown(port);
          bench.fabric.portUp(port);
          model.forget(port);
          break;
        case 2:
          CHECK_EQ(client.find(group(mgid)) == kSaOk, model.exists(mgid));
          break;
        case 3:
        case 4:
        case 5:
        case 6:
        case 7: {
          // A port that loses its last full bit with others left is a case of its own.
          const uint8_t all = model.state(mgid, port);
          const uint8_t chosen = random.next() % 3 == 0 ? bits : all;
          const bool expected = chosen != 0 && (all & chosen) == chosen;
          if (expected) model.leave(mgid, port, chosen);
          CHECK_EQ(client.leave(group(mgid), chosen) == kSaOk, expected);
          break;
        }
        default:
          CHECK_EQ(client.create(group(mgid), bits) == kSaOk, model.join(mgid, port, bits));
      }
      CHECK_EQ(bench.fabric.groups().size(), model.size() + 1);
      CHECK_EQ(bench.fabric.counters().freeMlids, 1023 - model.size());
      size_t members = 0;
      for (const auto& member : bench.fabric.members()) {
        ++members;
        bool known = false;
        for (int p = 0; p < 3; ++p) {
          const auto& candidate = *bench.clients[static_cast<size_t>(p)];
          known |= member.portGid == candidate.port().gid &&
                   model.state(member.mgid.bytes[15], p) == member.joinState;
        }
        CHECK(known);
      }
      size_t expectedMembers = 0;
      for (uint32_t g = 0; g < 8; ++g) {
        for (int p = 0; p < 3; ++p) expectedMembers += model.state(g, p) != 0 ? 1 : 0;
      }
      CHECK_EQ(members, expectedMembers);
    }
    CHECK_EQ(bench.fabric.counters().outstanding, 0u);
  }
}

TEST("embedded random: any 256 bytes are answered or dropped") {
  Bench bench;
  Random random(7);
  bench.a().create(group(1));
  for (int i = 0; i < 20000; ++i) {
    MadBytes bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    if (random.next() % 4 != 0) {
      bytes[0] = 1;
      bytes[1] = 3;
      bytes[2] = 2;
      const uint8_t methods[] = {0x01, 0x02, 0x12, 0x15};
      bytes[3] = methods[random.next() % 4];
      bytes[16] = 0;
      bytes[17] = 0x38;
      for (size_t k = 36; k < 44; ++k) bytes[k] = 0;
      if (random.next() % 2 == 0) {
        for (size_t k = 0; k < 16; ++k) bytes[56 + k] = group(1).bytes[k];
        for (size_t k = 0; k < 16; ++k) bytes[72 + k] = bench.a().port().gid.bytes[k];
      }
    }
    CHECK_EQ(bench.a().transport().send(bytes, 1, 0, 1s), kOk);
    bench.advance(0ms);
    bench.a().answers.clear();
    bench.a().arrivals.clear();
  }
  const auto counters = bench.fabric.counters();
  CHECK_EQ(counters.outstanding, 0u);
  CHECK_EQ(counters.replies + counters.requestsRefused, 20001u);
}

namespace {

/** Joins and leaves its own groups over and over on a thread of its own, in real time. */
class Churn final : public Machine, public MadTransport::Listener {
 public:
  Churn(Fabric& fabric, int port, uint32_t firstGroup)
      : transport_(fabric.open(port)), driver_(*this), first_(firstGroup) {
    transport_->start(driver_);
    driver_.start();
  }
  ~Churn() override {
    driver_.stop();
    transport_->stop();
  }
  Instant run(Instant now) override {
    transport_->poll(now, *this);
    if (!waiting_ && rounds.load() < kRounds) next();
    // An unanswered request is asked again, as a real client would.
    if (waiting_ && now > deadline_) next();
    deadline_ = waiting_ && sentNow_ ? now + 20ms : deadline_;
    sentNow_ = false;
    return waiting_ ? deadline_ + 1us : kNever;
  }
  void onMad(const ReceivedMad& received) override {
    uint64_t transaction = 0;
    if (!readTransactionId(received.bytes.data(), received.bytes.size(), transaction)) return;
    if (static_cast<uint32_t>(transaction) != transaction_) return;
    waiting_ = false;
    joining_ = !joining_;
    rounds.fetch_add(1);
  }
  void onPortEvent(const PortEvent&) override { events.fetch_add(1); }

  static constexpr int kRounds = 2000;
  std::atomic<int> rounds{0};
  std::atomic<int> events{0};

 private:
  void next() {
    McMemberRecord record;
    record.mgid = group(first_ + static_cast<uint32_t>(rounds.load()) / 2 % 16);
    record.portGid = transport_->port().gid;
    record.pkey = 0xffff;
    record.joinState = kFullMember;
    SaMad mad;
    mad.method = static_cast<uint8_t>(joining_ ? SaMethod::kSet : SaMethod::kDelete);
    mad.attributeId = static_cast<uint16_t>(SaAttribute::kMcMemberRecord);
    mad.componentMask = kMcCreationComponents;
    mad.transactionId = ++transaction_;
    packMcMemberRecord(record, mad.data.data());
    MadBytes bytes;
    packSaMad(mad, bytes);
    if (transport_->send(bytes, transport_->port().smLid, 0, 20ms) == kOk) {
      waiting_ = true;
      sentNow_ = true;
    }
  }

  std::unique_ptr<MadTransport> transport_;
  ThreadDriver driver_;
  const uint32_t first_;
  uint32_t transaction_ = 0;
  bool waiting_ = false;
  bool joining_ = true;
  bool sentNow_ = false;
  Instant deadline_ = kNever;
};

}  // namespace

TEST("embedded stress: clients and controls from many threads, in real time") {
  FabricOptions options;
  options.ports = 3;
  Fabric fabric(options);
  ThreadDriver driver(fabric);
  fabric.setWaker(&driver);
  driver.start();
  {
    std::vector<std::unique_ptr<Churn>> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(std::make_unique<Churn>(fabric, i % 3, 100 * static_cast<uint32_t>(i)));
    }
    fabric.setDuplication(0.1);
    fabric.setReordering(0.1, 200us);
    auto done = [&] {
      for (const auto& client : clients) {
        if (client->rounds.load() < Churn::kRounds) return false;
      }
      return true;
    };
    const Instant limit = steadyNow() + 60s;
    for (int round = 0; !done() && steadyNow() < limit; ++round) {
      switch (round % 8) {
        case 0:
          fabric.restartSm(true);
          break;
        case 1:
          fabric.portDown(1);
          break;
        case 2:
          fabric.portUp(1);
          break;
        case 3:
          fabric.silence();
          break;
        case 4:
          fabric.resume();
          break;
        case 5:
          fabric.takeover(static_cast<uint16_t>(50 + round % 2));
          break;
        case 6:
          fabric.changeLid(0, static_cast<uint16_t>(100 + round % 50));
          break;
        default:
          fabric.dropNext(1);
      }
      fabric.members();
      fabric.counters();
      fabric.open(round % 3)->stop();
      std::this_thread::sleep_for(5ms);
    }
    fabric.resume();
    CHECK(done());
    CHECK(clients[0]->events.load() > 0);
  }
  driver.stop();
  fabric.setWaker(nullptr);
  fabric.run(steadyNow() + 1s);
  CHECK_EQ(fabric.counters().outstanding, 0u);
}
