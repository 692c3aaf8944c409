// The probe, and bits that somebody else on the port had joined before us.
#include "model_sa.h"
#include "world.h"

namespace rxib::test {
namespace {

sa::Options probing(sa::Probe probe = sa::Probe::kAlways) {
  sa::Options options = quietOptions();
  options.probe = probe;
  return options;
}

Gid ipoib(uint8_t n, uint8_t signature = 0x40) {
  Gid gid = mgid(n);
  gid.bytes[2] = signature;
  return gid;
}

bool asksForJoinState(const SentMad& mad) {
  return (mad.mad.componentMask & rxib::bit(McComponent::kJoinState)) != 0;
}

/** The client beside others on its port, at an SA that answers at once. */
class Neighbourhood {
 public:
  explicit Neighbourhood(const sa::Options& options = probing()) : world(options) {
    world.transport.script = [this](const SentMad& mad) {
      world.transport.deliver(received(sa.execute(mad), mad.lid), world.transport.now());
      return kOk;
    };
  }

  void neighbour(uint8_t group, uint8_t bits) { sa.join(joinSpec(group, bits).record); }
  uint8_t bits(uint8_t group) const {
    auto found = sa.members.find(mgid(group));
    return found == sa.members.end() ? uint8_t{0} : found->second.bits;
  }
  HandleId member(uint8_t group, uint8_t joinState = kFullMember) {
    const HandleId handle = world.join(group, joinState);
    world.run();
    CHECK_EQ(world.sink.told(handle), "0");
    return handle;
  }
  void leave(HandleId handle) {
    world.free(handle);
    world.run();
  }

  ModelSa sa;
  World world;
};

TEST("sa probe: asked by MGID and PortGID before the first Set, and only then") {
  World world(probing(sa::Probe::kIpoib));
  for (uint8_t signature : {uint8_t{0x40}, uint8_t{0x60}}) {
    const HandleId first = world.join(joinSpec(ipoib(1, signature)));
    const size_t mark = world.mark();
    world.run();
    CHECK_EQ(world.trace(mark), "Get 1");
    CHECK_EQ(world.last().mad.componentMask,
             rxib::bit(McComponent::kMgid) | rxib::bit(McComponent::kPortGid));
    CHECK(world.last().record.portGid == world.transport.state.gid);
    world.answerLast(codec::kSaNoRecords);
    CHECK_EQ(world.trace(mark), "Get 1, Set 1/1");
    world.answerLast();
    const HandleId second = world.join(joinSpec(ipoib(1, signature)));
    world.run();
    CHECK_EQ(world.sink.told(first) + world.sink.told(second), "00");
    world.free(first);
    world.free(second);
    world.run();
    CHECK_EQ(world.trace(mark), "Get 1, Set 1/1, Delete 1/1");
    world.answerLast();
  }
  CHECK_EQ(world.stats.probes.get(), 2u);
  world.checkEmpty();
}

TEST("sa probe: not for other MGIDs, not with 'never', not for an MGID to be assigned") {
  World usual(probing(sa::Probe::kIpoib));
  usual.join(1);
  usual.run();
  CHECK_EQ(usual.trace(), "Set 1/1");
  World never(probing(sa::Probe::kNever));
  never.join(joinSpec(ipoib(1)));
  never.run();
  CHECK_EQ(never.trace(), "Set 1/1");
  World always(probing());
  always.join(joinSpec(Gid{}));
  always.run();
  CHECK_EQ(always.trace(), "Set 0/1");
  CHECK_EQ(always.stats.probes.get(), 0u);
}

TEST("sa probe: what a neighbour holds is joined, shared and not left") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  const HandleId first = at.member(1);
  CHECK_EQ(at.world.trace(), "Get 1, Get 1, Set 1/1");
  CHECK_EQ(at.world.stats.borrowed.get(), 1u);
  const HandleId second = at.member(1);
  at.leave(first);
  at.leave(second);
  CHECK_EQ(at.world.trace(), "Get 1, Get 1, Set 1/1");
  CHECK_EQ(at.bits(1), kFullMember);
  CHECK_EQ(at.world.stats.borrowed.get(), 0u);
  at.world.checkEmpty();
}

TEST("sa probe: of two bits the borrowed one stays and the own one is left") {
  Neighbourhood at;
  at.neighbour(1, 4);
  const HandleId both = at.member(1, 5);
  CHECK_EQ(at.bits(1), 5);
  at.leave(both);
  CHECK_EQ(at.bits(1), 4);
  at.world.checkEmpty();
}

TEST("sa probe: a bit on top of another's is our own, and so is one on top of our own") {
  for (uint8_t theirs = 1; theirs < 16; ++theirs) {
    for (uint8_t ours = 1; ours < 16; ++ours) {
      Neighbourhood at;
      at.neighbour(1, theirs);
      const HandleId first = at.member(1, ours);
      const HandleId second = at.member(1, static_cast<uint8_t>(15));
      CHECK_EQ(at.bits(1), 15);
      at.leave(first);
      at.leave(second);
      CHECK_EQ(at.bits(1), theirs);
      at.world.checkEmpty();
    }
  }
}

TEST("sa probe: an SA that finds more than exactly what it is asked for is not believed") {
  // One that ignores the join state, and one that looks whether the bits are among those held.
  for (bool ignores : {true, false}) {
    Neighbourhood at;
    at.neighbour(1, 5);
    at.world.transport.script = [&](const SentMad& mad) {
      SentMad altered = mad;
      const bool among = (mad.record.joinState & at.bits(1)) == mad.record.joinState;
      if (mad.method() == SaMethod::kGet && asksForJoinState(mad) && (ignores || among)) {
        altered.mad.componentMask &= ~rxib::bit(McComponent::kJoinState);
      }
      at.world.transport.deliver(received(at.sa.execute(altered), mad.lid));
      return kOk;
    };
    const HandleId handle = at.member(1, 4);
    at.leave(handle);
    CHECK_EQ(at.bits(1), 5);
    at.world.checkEmpty();
  }
}

TEST("sa probe: a match that the counter-check does not bear out makes nothing ours") {
  Neighbourhood at;
  at.neighbour(1, 5);
  const HandleId own = at.member(1, 8);
  // From here on it finds every join state, ours of old among them.
  at.world.transport.script = [&](const SentMad& mad) {
    SentMad altered = mad;
    if (mad.method() == SaMethod::kGet) {
      altered.mad.componentMask &= ~rxib::bit(McComponent::kJoinState);
    }
    at.world.transport.deliver(received(at.sa.execute(altered), mad.lid));
    return kOk;
  };
  const HandleId theirs = at.member(1, 4);
  at.leave(theirs);
  at.leave(own);
  CHECK_EQ(at.bits(1), 5);
  at.world.checkEmpty();
}

TEST("sa probe: found, but with no join state at all, borrows everything") {
  World world(probing());
  const HandleId handle = world.join(1, 5);
  world.run();
  world.answerLast(0);
  for (int asked = 0; asked < 15; ++asked) {
    CHECK(asksForJoinState(world.last()));
    world.answerLast(codec::kSaNoRecords);
  }
  CHECK(world.last().method() == SaMethod::kSet);
  CHECK_EQ(world.stats.probes.get(), 16u);
  world.answerLast();
  const size_t mark = world.mark();
  world.free(handle);
  world.advance(ms(100000));
  CHECK_EQ(world.mark(), mark);
  world.checkEmpty();
}

TEST("sa probe: a refusal proves nothing, so nobody is evicted") {
  for (uint16_t status :
       {codec::kSaTooManyRecords, codec::kSaReqDenied, codec::kSaMethodAttributeUnsupported}) {
    World world(probing());
    const HandleId handle = world.join(1);
    world.run();
    world.answerLast(status);
    CHECK_EQ(world.trace(), "Get 1, Set 1/1");
    world.answerLast();
    CHECK_EQ(world.sink.told(handle), "0");
    world.free(handle);
    world.advance(ms(100000));
    CHECK_EQ(world.trace(), "Get 1, Set 1/1");
    world.checkEmpty();
  }
}

TEST("sa probe: without an answer the join fails, and nothing was joined") {
  World world(probing());
  const HandleId silent = world.join(1);
  world.advance(ms(3000));
  CHECK_EQ(world.trace(), "Get 1, Get 1, Get 1");
  CHECK_EQ(world.sink.told(silent), std::to_string(kETIMEDOUT));
  CHECK(!world.sink.last(silent).saStatus.has_value());
  world.checkEmpty();

  const HandleId busy = world.join(2);
  world.transport.script = [&](const SentMad& mad) {
    world.transport.answer(mad, codec::kSaBusy);
    return kOk;
  };
  world.advance(ms(3000));
  CHECK_EQ(world.sink.told(busy), std::to_string(kETIMEDOUT));
  CHECK_EQ(*world.sink.last(busy).saStatus, codec::kSaBusy);

  world.transport.script = [](const SentMad&) { return static_cast<int>(kEIO); };
  const HandleId unsent = world.join(3);
  world.run();
  CHECK_EQ(world.sink.told(unsent), std::to_string(kEIO));
  CHECK_EQ(world.stats.joinsSent.get(), 0u);
  world.checkEmpty();
}

TEST("sa probe: BUSY first and an answer then is an answer") {
  World world(probing());
  world.join(1);
  world.run();
  world.answerLast(codec::kSaBusy);
  world.advanceToNextSend();
  world.answerLast(codec::kSaNoRecords);
  CHECK_EQ(world.trace(), "Get 1, Get 1, Set 1/1");
}

TEST("sa probe: freed meanwhile, nothing else is sent") {
  World world(probing());
  const HandleId handle = world.join(1);
  world.run();
  world.free(handle);
  world.run();
  world.checkEmpty();
  world.answerLast(codec::kSaNoRecords);
  CHECK_EQ(world.trace(), "Get 1");
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
}

TEST("sa probe: a second handle waits for it, and takes it over when the first is freed") {
  World world(probing());
  const HandleId first = world.join(1);
  world.run();
  const HandleId second = world.join(1, 4);
  const HandleId third = world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(), "Get 1");
  world.free(first);
  world.run();
  world.answerLast(codec::kSaNoRecords);
  CHECK_EQ(world.trace(), "Get 1, Set 1/4");
  world.answerLast();
  CHECK_EQ(world.sink.told(second) + world.sink.told(third), "00");
}

TEST("sa probe: freed while the Set of borrowed bits is under way, nothing is left") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  at.world.transport.script = [&](const SentMad& mad) {
    const codec::SaMad reply = at.sa.execute(mad);
    if (mad.method() != SaMethod::kSet) at.world.transport.deliver(received(reply, mad.lid));
    return kOk;
  };
  const HandleId handle = at.world.join(1);
  at.world.run();
  CHECK(at.world.last().method() == SaMethod::kSet);
  at.world.free(handle);
  at.world.run();
  at.world.answerLast();
  at.world.advance(ms(100000));
  CHECK_EQ(at.bits(1), kFullMember);
  CHECK_EQ(at.world.stats.leavesSent.get(), 0u);
  at.world.checkEmpty();
}

TEST("sa probe: no compensating leave and no leave of a late success for borrowed bits") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  SentMad set;
  at.world.transport.script = [&](const SentMad& mad) {
    const codec::SaMad reply = at.sa.execute(mad);
    if (mad.method() == SaMethod::kSet) {
      set = mad;
    } else {
      at.world.transport.deliver(received(reply, mad.lid));
    }
    return kOk;
  };
  const HandleId handle = at.world.join(1);
  at.world.advance(ms(4000));
  CHECK_EQ(at.world.sink.told(handle), std::to_string(kETIMEDOUT));
  at.world.free(handle);
  at.world.run();
  at.world.checkEmpty();
  at.world.transport.answer(set);
  at.world.advance(ms(100000));
  CHECK_EQ(at.world.stats.lateReplies.get(), 1u);
  CHECK_EQ(at.world.stats.leavesSent.get(), 0u);
  CHECK_EQ(at.bits(1), kFullMember);
}

TEST("sa probe: a Set of former times does not speak for what a neighbour has joined since") {
  Neighbourhood at;
  std::vector<SentMad> sets;
  bool deaf = true;
  at.world.transport.script = [&](const SentMad& mad) {
    const codec::SaMad reply = at.sa.execute(mad);
    if (mad.method() == SaMethod::kSet) sets.push_back(mad);
    if (mad.method() != SaMethod::kSet || !deaf) {
      at.world.transport.deliver(received(reply, mad.lid));
    }
    return kOk;
  };
  const HandleId lost = at.world.join(1);
  at.world.advance(ms(4000));
  CHECK_EQ(at.world.stats.compensatingLeaves.get(), 1u);
  CHECK_EQ(at.bits(1), 0);
  at.world.free(lost);
  deaf = false;

  at.neighbour(1, kFullMember);
  const HandleId later = at.member(1);
  at.leave(later);
  at.world.checkEmpty();
  at.world.transport.answer(sets.front());
  at.world.advance(ms(100000));
  CHECK_EQ(at.world.stats.leavesSent.get(), 1u);
  CHECK_EQ(at.bits(1), kFullMember);
}

TEST("sa probe: our own membership survives a LID change and is not taken for a stranger's") {
  Neighbourhood at;
  const HandleId before = at.member(1);
  const uint64_t probes = at.world.stats.probes;
  at.world.event(ResetReason::kLidChange, [](PortState& p) { p.lid = 77; });
  CHECK_EQ(at.world.sink.told(before), "0 -102");
  CHECK_EQ(at.bits(1), kFullMember);
  at.world.free(before);
  const HandleId after = at.member(1);
  CHECK_EQ(at.world.stats.probes.get(), probes);
  CHECK_EQ(at.world.stats.borrowed.get(), 0u);
  at.leave(after);
  CHECK_EQ(at.bits(1), 0);
  at.world.checkEmpty();
}

TEST("sa probe: nor when the rejoin is lost and tried again") {
  Neighbourhood at;
  const HandleId before = at.member(1);
  at.world.event(ResetReason::kLidChange, [](PortState& p) { p.lid = 77; });
  at.world.free(before);
  auto answering = std::exchange(at.world.transport.script, [&](const SentMad& mad) {
    at.sa.execute(mad);
    return kOk;
  });
  const HandleId lost = at.world.join(1);
  at.world.advance(ms(3500));
  CHECK_EQ(at.world.sink.told(lost), std::to_string(kETIMEDOUT));
  at.world.free(lost);
  const HandleId again = at.world.join(1);
  at.world.run();
  at.world.transport.script = answering;
  at.world.advance(ms(20000));
  CHECK_EQ(at.world.sink.told(again), "0");
  at.leave(again);
  at.world.advance(ms(60000));
  CHECK_EQ(at.bits(1), 0);
  at.world.checkEmpty();
}

TEST("sa probe: borrowed bits are asked for anew after a reset") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  const HandleId first = at.member(1);
  at.world.event(ResetReason::kLidChange, [](PortState& p) { p.lid = 77; });
  at.world.free(first);
  at.world.advance(ms(60000));
  // Not even a stale leave.
  CHECK_EQ(at.world.stats.leavesSent.get(), 0u);
  const HandleId second = at.member(1);
  CHECK_EQ(at.world.stats.borrowed.get(), 1u);
  at.world.event(ResetReason::kSmChange, [&](PortState&) { at.sa = ModelSa{}; });
  at.world.free(second);
  // The new subnet manager knows no neighbour, so this time the bit is ours.
  const HandleId third = at.member(1);
  CHECK_EQ(at.world.stats.borrowed.get(), 0u);
  at.leave(third);
  CHECK_EQ(at.bits(1), 0);
  at.world.checkEmpty();
}

TEST("sa probe: own bits beside borrowed ones stay ours over a reset, and are left later") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  const HandleId handle = at.member(1, 5);
  at.world.event(ResetReason::kClientReregister);
  CHECK_EQ(at.world.sink.told(handle), "0 -102");
  at.world.free(handle);
  at.world.advance(ms(29000));
  CHECK_EQ(at.bits(1), 5);
  at.world.advance(ms(2000));
  CHECK_EQ(at.bits(1), kFullMember);
  CHECK_EQ(at.world.stats.staleLeaves.get(), 1u);
  at.world.checkEmpty();
}

TEST("sa probe: a reset during the probe asks again, a port that went down fails the join") {
  World world(probing());
  const HandleId handle = world.join(1);
  world.run();
  world.event(ResetReason::kSmChange, [](PortState& p) { p.smLid = 9; });
  CHECK_EQ(world.trace(), "Get 1, Get 1");
  CHECK_EQ(world.last().lid, 9);
  world.event(ResetReason::kPortError, [](PortState& p) { p.phase = PortPhase::kDown; });
  CHECK_EQ(world.sink.told(handle), std::to_string(kEAGAIN));
  world.checkEmpty();
}

TEST("sa probe: an absence that an audit has confirmed has the next join probed") {
  sa::Options options = probing();
  options.auditInterval = ms(1000);
  Neighbourhood at(options);
  const HandleId first = at.member(1);
  at.sa = ModelSa{};
  at.world.advance(ms(3000));
  CHECK(at.world.sink.last(first).reason == ResetReason::kMembershipLost);
  at.world.free(first);
  at.neighbour(1, kFullMember);
  const HandleId second = at.member(1);
  CHECK_EQ(at.world.stats.borrowed.get(), 1u);
  at.leave(second);
  at.world.advance(ms(60000));
  CHECK_EQ(at.bits(1), kFullMember);
  at.world.checkEmpty();
}

TEST("sa probe: a membership that it finds missing is lost, as in an audit") {
  Neighbourhood at;
  const HandleId first = at.member(1);
  at.sa = ModelSa{};
  const HandleId second = at.member(1, 5);
  CHECK_EQ(at.world.sink.told(first), "0 -102");
  CHECK(at.world.sink.last(first).reason == ResetReason::kMembershipLost);
  at.leave(second);
  CHECK_EQ(at.bits(1), 0);
  at.world.checkEmpty();
}

TEST("sa probe: an audit gives way to it and does not overlap it") {
  sa::Options options = probing();
  options.auditInterval = ms(1000);
  World world(options);
  world.join(1);
  world.run();
  world.answerLast(codec::kSaNoRecords);
  world.answerLast();
  world.advanceToNextSend();
  CHECK_EQ(world.stats.audits.get(), 1u);
  world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(), "Get 1, Set 1/1, Get 1, Get 1");
  CHECK_EQ(world.stats.probes.get(), 2u);
  world.advance(ms(2500));
  CHECK_EQ(world.stats.audits.get(), 1u);
}

TEST("sa probe: a refused Set of borrowed bits leaves no trace of them") {
  Neighbourhood at;
  at.neighbour(1, kFullMember);
  sa::JoinSpec other = joinSpec(1);
  other.record.qkey = 0x77;
  const HandleId handle = at.world.join(other);
  at.world.run();
  CHECK_EQ(at.world.sink.told(handle), std::to_string(kEINVAL));
  CHECK_EQ(at.world.sink.last(handle).fields, rxib::bit(McComponent::kQkey));
  CHECK_EQ(at.world.stats.borrowed.get(), 0u);
  CHECK_EQ(at.bits(1), kFullMember);
  at.world.checkEmpty();
}

TEST("sa probe: for another port it is that port which is asked for") {
  World world(probing());
  sa::JoinSpec spec = joinSpec(1);
  spec.record.portGid = world.transport.state.gid;
  spec.record.portGid.bytes[15] = 99;
  world.join(spec);
  world.run();
  CHECK(world.last().record.portGid == spec.record.portGid);
}

TEST("sa probe: what was left behind by a process that died is found, and stays") {
  Neighbourhood at;
  at.member(1);
  // Nothing was freed: a second client on the same port knows nothing of the first.
  World next(probing());
  next.transport.script = [&](const SentMad& mad) {
    next.transport.deliver(received(at.sa.execute(mad), mad.lid));
    return kOk;
  };
  const HandleId handle = next.join(1);
  next.run();
  CHECK_EQ(next.sink.told(handle), "0");
  CHECK_EQ(next.stats.borrowed.get(), 1u);
  next.free(handle);
  next.advance(ms(60000));
  CHECK_EQ(at.bits(1), kFullMember);
  next.checkEmpty();
}

}  // namespace
}  // namespace rxib::test
