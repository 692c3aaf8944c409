// Whatever the network does, nothing is left behind: random joins and frees against a small model
// of a subnet administrator, with MADs lost, delayed, repeated and reordered, and ports that come
// and go. A failing case names its seed; RXIB_SA_SEEDS=N runs N of them.
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "model_sa.h"
#include "sa/port.h"
#include "world.h"

namespace rxib::test {
namespace {

struct Weather {
  double requestLost = 0;
  double replyLost = 0;
  double duplicate = 0;
  double busy = 0;
  double refused = 0;  // of the Sets: refused without being executed
  double unsent = 0;
  double portEvent = 0;  // per step
  Duration slowest{0};   // of a reply
  // Of a request. Above 0 requests overtake each other, which a fabric hardly does: a repeated
  // Delete may then hit a later join, so members are not checked.
  Duration slowestRequest{0};
  // Of a group, per phase: somebody else on the port is a member before any of ours. At the end of
  // the phase everything of ours is freed, and only then may they change their mind.
  double neighbour = 0;
  bool calm = false;         // every request is answered before it is repeated
  Duration step = ms(3000);  // mean time between two actions
};

class Storm final : public CompletionSink {
 public:
  Storm(uint64_t seed, const Weather& weather, const sa::Options& options)
      : weather_(weather), options_(options), random_(seed) {
    auto transport = std::make_unique<ScriptedTransport>();
    transport_ = transport.get();
    transport_->keep = false;
    transport_->script = [this](const SentMad& mad) { return network(mad); };
    port_ = std::make_unique<sa::Port>(std::move(transport), options);
    port_->start(slot_);
    driver_.add(slot_, *port_);
    port_->attach(std::shared_ptr<CompletionSink>(this, [](CompletionSink*) {}));
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (weather_.neighbour > 0 && i % 40 == 0) changeNeighbours();
      act();
      driver_.advance(std::chrono::duration_cast<Duration>(weather_.step * (2 * chance())));
      checkMembers();
      checkNeighbours();
    }
    calmDown();
  }

  void complete(Completion completion) override {
    Handle& handle = handles_.at(completion.handle);
    // Joined once, failed once, and nothing after that.
    if (completion.status == 0) {
      CHECK(!handle.joined && !handle.over);
      handle.joined = true;
      handle.mgid = completion.record->mgid;
    } else {
      CHECK(!handle.over);
      CHECK_EQ(completion.status == kENETRESET, handle.joined);
      handle.joined = false;
      handle.over = true;
    }
  }
  void diagnose(const Diagnostic&) override {}
  void settled() override { CHECK(!port_->unsettled()); }

 private:
  struct Handle {
    Gid mgid;
    uint8_t bits = 0;
    bool joined = false;
    bool over = false;
  };

  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool happens(double probability) { return probability > 0 && chance() < probability; }
  template <typename T>
  T among(std::initializer_list<T> values) {
    return values.begin()[static_cast<size_t>(chance() * static_cast<double>(values.size()))];
  }

  int network(const SentMad& mad) {
    CHECK(port_->stats().outstanding <= static_cast<uint64_t>(options_.maxOutstanding));
    CHECK(transport_->state.active() && transport_->state.smLid != 0);
    if (happens(weather_.unsent)) return kEIO;
    if (happens(weather_.requestLost)) return kOk;
    if (weather_.calm) checkTurn(mad);
    if (weather_.slowestRequest == Duration{0}) {
      arrive(mad);
    } else {
      transport_->later(driver_.now() + upTo(weather_.slowestRequest), [=] { arrive(mad); });
    }
    return kOk;
  }

  /** Sets and Deletes of one group wait for each other's answers. */
  void checkTurn(const SentMad& mad) {
    if (mad.method() == SaMethod::kGet || mad.record.mgid.isZero()) return;
    Instant& answered = answered_[mad.record.mgid];
    CHECK(answered <= driver_.now());
    answered = kNever;
  }

  void arrive(const SentMad& mad) {
    codec::SaMad reply;
    if (happens(weather_.busy)) {
      reply = responseTo(mad, codec::kSaBusy, mad.record);
    } else if (mad.method() == SaMethod::kSet && happens(weather_.refused)) {
      reply = responseTo(mad, codec::kSaNoResources, mad.record);
    } else {
      reply = sa_.execute(mad);
    }
    if (happens(weather_.replyLost)) return;
    const int copies = happens(weather_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Instant at = driver_.now() + upTo(weather_.slowest);
      if (mad.method() != SaMethod::kGet) answered_[mad.record.mgid] = at;
      transport_->deliver(received(reply, mad.lid), at);
    }
  }

  Duration upTo(Duration most) {
    return std::chrono::duration_cast<Duration>(most * chance()) + Duration{1};
  }

  void act() {
    if (happens(weather_.portEvent)) portEvent();
    const int actions = static_cast<int>(chance() * 6);
    for (int i = 0; i < actions; ++i) {
      if (handles_.empty() || chance() < 0.55) {
        sa::JoinSpec spec =
            joinSpec(static_cast<uint8_t>(1 + chance() * 5), among<uint8_t>({1, 1, 1, 4, 5, 2}));
        if (chance() < 0.1) spec.record.mgid = Gid{};
        if (chance() < 0.1) spec.record.qkey = 0x2c;
        Handle handle;
        handle.bits = spec.bits();
        handles_[++lastHandle_] = handle;
        port_->join(lastHandle_, spec, this);
        if (chance() < 0.1) free(lastHandle_);
      } else {
        auto chosen = handles_.begin();
        std::advance(chosen, static_cast<long>(chance() * static_cast<double>(handles_.size())));
        free(chosen->first);
      }
    }
  }

  void free(HandleId id) {
    // A completion for it after this point would find no entry, and at() would throw.
    driver_.advance(Duration{0});
    handles_.erase(id);
    port_->free(id);
  }

  void portEvent() {
    const int which = static_cast<int>(chance() * 5);
    if (!transport_->state.active() || which == 0) {
      const bool up = !transport_->state.active();
      transport_->raise(up ? ResetReason::kNone : ResetReason::kPortError, [up](PortState& p) {
        p.phase = up ? PortPhase::kActive : PortPhase::kDown;
      });
    } else if (which == 1) {
      transport_->raise(ResetReason::kLidChange, [](PortState& p) { p.lid ^= 64; });
    } else if (which == 2) {
      // A new subnet manager knows nobody.
      transport_->raise(ResetReason::kSmChange, [this](PortState& p) {
        ++p.smLid;
        sa_ = ModelSa{};
        for (const auto& [group, record] : neighbours_) sa_.join(record);
      });
    } else if (which == 3) {
      transport_->raise(ResetReason::kClientReregister);
    } else {
      PortEvent event;
      event.reason = ResetReason::kPkeyChange;
      event.pkeysBefore = transport_->state.pkeys;
      transport_->raise(event, [](PortState& p) {
        p.pkeys = p.pkeys[0] == 0xffff ? std::vector<uint16_t>{0x8001, 0xffff}
                                       : std::vector<uint16_t>{0xffff, 0x8001};
      });
    }
    driver_.advance(Duration{0});
  }

  /** Whoever believes to be a member is one. */
  void checkMembers() {
    if (weather_.slowestRequest > Duration{0}) return;
    for (const auto& [id, handle] : handles_) {
      if (!handle.joined) continue;
      // A restarted SM may assign an MGID while a Delete of its former owner is under way. No order
      // of requests prevents that; the audit finds it.
      if (weather_.portEvent > 0 && handle.mgid.bytes[1] == 0x15) continue;
      auto found = sa_.members.find(handle.mgid);
      CHECK(found != sa_.members.end());
      CHECK_EQ(found->second.bits & handle.bits, handle.bits);
    }
  }

  void changeNeighbours() {
    while (!handles_.empty()) free(handles_.begin()->first);
    const Weather weather = std::exchange(weather_, clearSky());
    transport_->raise(ResetReason::kNone, [](PortState& p) { p.phase = PortPhase::kActive; });
    driver_.advance(std::chrono::minutes{5});
    weather_ = weather;
    checkLeft();
    sa_ = ModelSa{};
    neighbours_.clear();
    for (uint8_t group = 1; group <= 5; ++group) {
      if (!happens(weather_.neighbour)) continue;
      McMemberRecord record = joinSpec(group, among<uint8_t>({1, 1, 4, 8, 5, 2})).record;
      neighbours_[record.mgid] = record;
      sa_.join(record);
    }
  }

  Weather clearSky() const {
    Weather weather = weather_;
    weather.requestLost = weather.replyLost = weather.busy = weather.unsent = 0;
    return weather;
  }

  void checkNeighbours() {
    for (const auto& [group, record] : neighbours_) {
      auto found = sa_.members.find(group);
      CHECK(found != sa_.members.end());
      CHECK_EQ(found->second.bits & record.joinState, record.joinState);
    }
  }

  /** What is at the SA is what others have joined, bit by bit. */
  void checkLeft() {
    // An MGID that was assigned in an answer nobody received can't be left.
    if (assignedMayLeak_) {
      for (auto it = sa_.members.begin(); it != sa_.members.end();) {
        it = it->first.bytes[1] == 0x15 ? sa_.members.erase(it) : std::next(it);
      }
    }
    checkNeighbours();
    CHECK_EQ(sa_.members.size(), neighbours_.size());
    for (const auto& [group, member] : sa_.members) {
      CHECK_EQ(member.bits, neighbours_.at(group).joinState);
    }
  }

  void calmDown() {
    while (!handles_.empty()) free(handles_.begin()->first);
    weather_ = clearSky();
    transport_->raise(ResetReason::kNone, [](PortState& p) { p.phase = PortPhase::kActive; });
    driver_.advance(std::chrono::minutes{5});
    const PortStats stats = port_->stats();
    checkLeft();
    CHECK_EQ(stats.joinsStarted.get(), lastHandle_);
    CHECK_EQ(stats.handlesFreed.get(), lastHandle_);
    CHECK_EQ(stats.handlesAlive.get(), 0u);
    CHECK_EQ(stats.groups.get(), 0u);
    CHECK_EQ(stats.borrowed.get(), 0u);
    CHECK_EQ(stats.outstanding.get(), 0u);
    CHECK(stats.outstandingPeak <= static_cast<uint64_t>(options_.maxOutstanding));
    CHECK_EQ(stats.foreignReplies + stats.malformedReplies, 0u);
    CHECK(!port_->unsettled());
  }

  Weather weather_;
  const sa::Options options_;
  const bool assignedMayLeak_ = weather_.replyLost > 0;
  std::mt19937_64 random_;
  ManualDriver driver_;
  ManualDriver::Slot slot_;
  ScriptedTransport* transport_ = nullptr;
  std::unique_ptr<sa::Port> port_;
  ModelSa sa_;
  std::map<HandleId, Handle> handles_;
  std::map<Gid, Instant> answered_;
  std::map<Gid, McMemberRecord> neighbours_;
  HandleId lastHandle_ = 0;
};

void storms(const Weather& weather, const sa::Options& options) {
  const char* wanted = std::getenv("RXIB_SA_SEEDS");
  const uint64_t seeds = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 40;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    try {
      sa::Options seeded = options;
      seeded.seed = seed * 0x9E3779B97F4A7C15ull;
      Storm storm(seed, weather, seeded);
      storm.run(150);
    } catch (const std::exception& error) {
      throw Failure("seed " + std::to_string(seed) + ": " + error.what());
    }
  }
}

sa::Options narrow(int window) {
  sa::Options options = quietOptions();
  options.maxOutstanding = window;
  return options;
}

TEST("sa property: nothing is left behind on a fabric that loses nothing") {
  Weather weather;
  weather.slowest = ms(20);
  weather.step = ms(10);
  weather.calm = true;
  storms(weather, narrow(2));
}

TEST("sa property: nor when answers are late, repeated and out of order") {
  Weather weather;
  weather.slowest = ms(5000);
  weather.duplicate = 0.3;
  weather.step = ms(700);
  storms(weather, narrow(3));
}

TEST("sa property: nor when requests overtake each other") {
  Weather weather;
  weather.slowest = ms(2000);
  weather.slowestRequest = ms(3000);
  weather.duplicate = 0.1;
  weather.step = ms(900);
  storms(weather, narrow(3));
}

TEST("sa property: nor when a third of everything is lost") {
  Weather weather;
  weather.slowest = ms(1500);
  weather.requestLost = 0.2;
  weather.replyLost = 0.35;
  weather.duplicate = 0.1;
  storms(weather, narrow(2));
}

TEST("sa property: nor when the SA is busy, refuses, and sends fail") {
  Weather weather;
  weather.slowest = ms(1500);
  weather.busy = 0.3;
  weather.refused = 0.2;
  weather.unsent = 0.05;
  weather.replyLost = 0.1;
  storms(weather, narrow(4));
}

TEST("sa property: nor when ports, SMs and partitions come and go in all that") {
  Weather weather;
  weather.slowest = ms(2500);
  weather.requestLost = 0.1;
  weather.replyLost = 0.2;
  weather.duplicate = 0.1;
  weather.busy = 0.05;
  weather.refused = 0.1;
  weather.unsent = 0.02;
  weather.portEvent = 0.15;
  storms(weather, narrow(3));
}

TEST("sa property: nobody who was a member before is evicted, whatever happens") {
  Weather weather;
  weather.slowest = ms(2500);
  weather.requestLost = 0.1;
  weather.replyLost = 0.2;
  weather.duplicate = 0.1;
  weather.busy = 0.05;
  weather.refused = 0.1;
  weather.unsent = 0.02;
  weather.portEvent = 0.15;
  weather.neighbour = 0.6;
  sa::Options options = narrow(3);
  options.probe = sa::Probe::kAlways;
  storms(weather, options);
}

TEST("sa property: nor on a fabric that loses nothing") {
  Weather weather;
  weather.slowest = ms(20);
  weather.step = ms(10);
  weather.calm = true;
  weather.neighbour = 0.6;
  sa::Options options = narrow(2);
  options.probe = sa::Probe::kAlways;
  storms(weather, options);
}

TEST("sa property: nor with an audit, when answers are late") {
  Weather weather;
  weather.slowest = ms(5000);
  weather.duplicate = 0.3;
  weather.portEvent = 0.1;
  weather.neighbour = 0.8;
  weather.step = ms(700);
  sa::Options options = narrow(3);
  options.probe = sa::Probe::kAlways;
  options.auditInterval = ms(500);
  storms(weather, options);
}

TEST("sa property: nor with an audit in the middle of it") {
  Weather weather;
  weather.slowest = ms(2500);
  weather.replyLost = 0.2;
  weather.portEvent = 0.1;
  sa::Options options = narrow(3);
  options.auditInterval = ms(500);
  storms(weather, options);
}

}  // namespace
}  // namespace rxib::test
