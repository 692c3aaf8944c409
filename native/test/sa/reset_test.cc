// Port events.
#include "world.h"

namespace rxib::test {
namespace {

TEST("sa: every event that loses memberships resets all groups, with its reason") {
  for (ResetReason reason :
       {ResetReason::kPortError, ResetReason::kLidChange, ResetReason::kSmChange,
        ResetReason::kClientReregister, ResetReason::kGidChange}) {
    World world;
    const HandleId a = world.member(1);
    const HandleId b = world.member(1, 4);
    const HandleId c = world.member(2);
    world.event(reason);
    for (HandleId handle : {a, b, c}) {
      CHECK_EQ(world.sink.told(handle), "0 -102");
      CHECK(world.sink.last(handle).reason == reason);
    }
    CHECK_EQ(world.stats.resets.get(), 3u);
    CHECK_EQ(world.stats.portEvents.get(), 1u);
    CHECK_EQ(world.sink.count(DiagnosticKind::kPortEvent), 1);
    CHECK(world.sink.diagnostics[0].reason == reason);
    CHECK_EQ(world.mark(), 3u);
    // A free afterwards is the last of it for the handle.
    world.free(a);
    world.event(reason);
    CHECK_EQ(world.stats.resets.get(), 3u);
  }
}

TEST("sa: all members are told before any join in line goes on") {
  World world;
  const HandleId a = world.member(1);
  const HandleId b = world.member(2);
  const HandleId waiting = world.join(1, 4);
  world.run();
  const size_t completions = world.sink.completions.size();
  world.transport.script = [&](const SentMad&) {
    CHECK_EQ(world.sink.completions.size(), completions + 2);
    return kOk;
  };
  world.event(ResetReason::kSmChange);
  CHECK_EQ(world.trace(3), "Set 1/4");
  CHECK_EQ(world.sink.told(a) + " " + world.sink.told(b), "0 -102 0 -102");
  CHECK_EQ(world.sink.told(waiting), "");
}

TEST("sa: with the port down, joins in line are told only after all members") {
  World world;
  world.member(1);
  world.join(1, 4);
  world.member(2);
  world.run();
  world.event(ResetReason::kPortError, [](PortState& p) { p.phase = PortPhase::kDown; });
  std::string order;
  for (const Completion& c : world.sink.completions) order += std::to_string(c.status) + " ";
  CHECK_EQ(order, "0 0 -102 -102 -11 ");
}

TEST("sa: the join in flight is asked again of the new SM, with a fresh budget") {
  World world;
  const HandleId a = world.join(1);
  world.advance(ms(2500));
  CHECK_EQ(world.mark(), 3u);
  world.event(ResetReason::kSmChange, [](PortState& p) { p.smLid = 8; });
  CHECK_EQ(world.mark(), 4u);
  CHECK_EQ(world.last().lid, 8);
  world.advance(ms(2999));
  CHECK_EQ(world.sink.told(a), "");
  CHECK_EQ(world.mark(), 6u);
  world.answerLast();
  CHECK_EQ(world.sink.told(a), "0");
  // The joined group makes the abandoned request moot, and its late success too.
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 6u);
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  CHECK(!world.client.unsettled());
}

TEST("sa: an abandoned join that then fails is compensated") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.event(ResetReason::kLidChange);
  world.answerLast(codec::kSaNoResources);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Delete 1/1");
}

TEST("sa: a freed join in flight is not asked again, but compensated") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.free(a);
  world.event(ResetReason::kLidChange);
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK(world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a join in flight keeps its place before those behind it") {
  World world;
  world.join(1, 1);
  world.join(1, 4);
  world.run();
  world.event(ResetReason::kLidChange);
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Set 1/4");
}

TEST("sa: a join that asks for more keeps apart what is stale and what is unresolved") {
  World world;
  world.member(1, 1);
  const HandleId more = world.join(1, 5);
  world.run();
  world.event(ResetReason::kLidChange);
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/5, Set 1/5");
  world.answerLast(codec::kSaNoResources);
  CHECK_EQ(world.sink.told(more), "-22");
  CHECK_EQ(world.trace(3), "Delete 1/4");
  world.answerLast();
  world.advance(ms(30000));
  CHECK_EQ(world.trace(3), "Delete 1/4, Delete 1/1");
}

TEST("sa: joins on a port that is not active, or has no SM, get EAGAIN") {
  for (int how = 0; how < 2; ++how) {
    World world;
    if (how == 0) world.transport.state.phase = PortPhase::kInitialize;
    if (how == 1) world.transport.state.smLid = 0;
    const HandleId a = world.join(1);
    world.advance(ms(5000));
    CHECK_EQ(world.sink.told(a), "-11");
    CHECK_EQ(world.mark(), 0u);
    world.checkEmpty();
  }
}

TEST("sa: a port event without an SM fails joins in flight and in line with EAGAIN") {
  World world;
  const HandleId a = world.join(1);
  const HandleId b = world.join(1, 4);
  world.run();
  world.event(ResetReason::kSmChange, [](PortState& p) { p.smLid = 0; });
  CHECK_EQ(world.sink.told(a) + " " + world.sink.told(b), "-11 -11");
  CHECK_EQ(world.mark(), 1u);
  // What the Set in flight may have gained is left when somebody can be told.
  CHECK(!world.client.unsettled());
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 1u);
  world.event(ResetReason::kNone, [](PortState& p) { p.smLid = 1; });
  CHECK_EQ(world.trace(1), "Delete 1/1");
  CHECK(world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: leaves wait for the port to come back") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  world.run();
  world.event(ResetReason::kPortError, [](PortState& p) { p.phase = PortPhase::kDown; });
  CHECK(!world.client.unsettled());
  world.advance(ms(100000));
  CHECK_EQ(world.mark(), 2u);
  world.event(ResetReason::kNone, [](PortState& p) { p.phase = PortPhase::kActive; });
  CHECK_EQ(world.trace(1), "Delete 1/1, Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a port that comes back without an event strands nothing") {
  World world;
  world.join(1);
  world.run();
  world.event(ResetReason::kPortError, [](PortState& p) { p.phase = PortPhase::kDown; });
  world.advance(ms(5000));
  CHECK_EQ(world.mark(), 1u);
  world.transport.state.phase = PortPhase::kActive;
  world.run();
  CHECK_EQ(world.trace(1), "Delete 1/1");
  CHECK(world.client.unsettled());
  world.transport.state.phase = PortPhase::kDown;
  world.run();
  CHECK(!world.client.unsettled());
}

TEST("sa: the active-again event resets nothing") {
  World world;
  const HandleId a = world.member(1);
  world.event(ResetReason::kNone);
  CHECK_EQ(world.sink.told(a), "0");
  CHECK_EQ(world.stats.resets.get(), 0u);
  CHECK_EQ(world.stats.portEvents.get(), 1u);
}

TEST("sa: a P_Key change concerns only the groups whose P_Key moved or vanished") {
  World world;
  auto in = [](uint8_t group, uint16_t pkey) {
    sa::JoinSpec spec = joinSpec(group);
    spec.record.pkey = pkey;
    return spec;
  };
  world.transport.state.pkeys = {0xffff, 0x8001, 0x8002, 0x8003};
  const HandleId stays = world.member(in(1, 0xffff));
  const HandleId moves = world.member(in(2, 0x8001));
  const HandleId vanishes = world.member(in(3, 0x8002));
  const HandleId limited = world.member(in(4, 0x0003));
  const HandleId absent = world.member(in(5, 0x8055));
  PortEvent event;
  event.reason = ResetReason::kPkeyChange;
  event.pkeysBefore = world.transport.state.pkeys;
  world.transport.raise(event, [](PortState& p) { p.pkeys = {0xffff, 0, 0x8001, 0x0003}; });
  world.run();
  CHECK_EQ(world.sink.told(stays), "0");
  CHECK_EQ(world.sink.told(moves), "0 -102");
  CHECK(world.sink.last(moves).reason == ResetReason::kPkeyChange);
  CHECK_EQ(world.sink.told(vanishes), "0 -102");
  CHECK_EQ(world.sink.told(limited), "0");
  CHECK_EQ(world.sink.told(absent), "0");
}

TEST("sa: a P_Key change has the join in flight of a concerned group asked again") {
  World world;
  sa::JoinSpec spec = joinSpec(1);
  spec.record.pkey = 0x8001;
  world.member(spec);
  spec.record.joinState = 4;
  const HandleId more = world.join(spec);
  world.run();
  PortEvent event;
  event.reason = ResetReason::kPkeyChange;
  event.pkeysBefore = world.transport.state.pkeys;
  world.transport.raise(event, [](PortState& p) { p.pkeys = {0xffff, 0, 0x8001}; });
  world.run();
  CHECK_EQ(world.trace(1), "Set 1/4, Set 1/4");
  world.answerLast();
  CHECK_EQ(world.sink.told(more), "0");
}

TEST("sa: an explanation cut short by a reset is told without fields") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  world.event(ResetReason::kSmChange);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaReqInvalid);
  world.checkEmpty();
}

TEST("sa: an audit cut short by a reset resets once") {
  sa::Options options = quietOptions();
  options.auditInterval = ms(1000);
  World world(options);
  const HandleId a = world.member(1);
  world.advance(ms(1201));
  CHECK_EQ(world.trace(1), "Get 1");
  world.event(ResetReason::kSmChange);
  world.transport.answer(SentMad{world.transport.sent[1]}, codec::kSaNoRecords);
  world.run();
  CHECK_EQ(world.sink.told(a), "0 -102");
  CHECK(world.sink.last(a).reason == ResetReason::kSmChange);
}

TEST("sa: a removed device resets members for good, and later joins get ENODEV") {
  World world;
  const HandleId active = world.member(1);
  const HandleId freed = world.member(3);
  const HandleId flying = world.join(2);
  world.run();
  world.free(freed);
  world.run();
  world.event(ResetReason::kDeviceRemoved, [](PortState& p) { p.phase = PortPhase::kDown; });
  CHECK_EQ(world.sink.told(active), "0 -102");
  CHECK(world.sink.last(active).reason == ResetReason::kDeviceRemoved);
  CHECK_EQ(world.sink.told(flying), "-19");
  const HandleId later = world.join(4);
  CHECK_EQ(world.sink.told(later), "-19");
  CHECK(!world.client.unsettled());
  const size_t mark = world.mark();
  world.event(ResetReason::kNone, [](PortState& p) { p.phase = PortPhase::kActive; });
  world.advance(ms(120000));
  CHECK_EQ(world.mark(), mark);
  world.checkEmpty();
}

TEST("sa: a late success after the device was removed is nobody's any more") {
  World world;
  world.join(1);
  world.run();
  world.event(ResetReason::kDeviceRemoved);
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.advance(ms(5000));
  CHECK_EQ(world.mark(), 1u);
  world.checkEmpty();
}

}  // namespace
}  // namespace rxib::test
