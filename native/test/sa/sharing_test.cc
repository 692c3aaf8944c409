// Groups, handles and the order of requests.
#include "world.h"

namespace rxib::test {
namespace {

TEST("sa: a join sends one Set with the caller's record and mask, and tells what was granted") {
  World world;
  sa::JoinSpec spec = joinSpec(7);
  spec.record.sl = 3;
  spec.record.flowLabel = 0x12345;
  world.transport.state.smLid = 9;
  world.transport.state.smSl = 2;
  const HandleId a = world.join(spec);
  world.run();
  CHECK_EQ(world.trace(), "Set 7/1");
  const SentMad& set = world.last();
  CHECK_EQ(set.mad.componentMask, kUsualMask);
  CHECK_EQ(set.lid, 9);
  CHECK_EQ(set.sl, 2);
  CHECK_EQ(set.record.sl, 3);
  CHECK_EQ(set.record.flowLabel, 0x12345u);
  CHECK(set.record.portGid == world.transport.state.gid);
  CHECK(set.timeout == ms(1000));
  world.answerLast();
  CHECK_EQ(world.sink.told(a), "0");
  CHECK_EQ(world.sink.last(a).record->mlid, 0xc007);
  CHECK(!world.sink.last(a).saStatus.has_value());
  CHECK_EQ(world.stats.joined.get(), 1u);
  CHECK_EQ(world.stats.joinsSent.get(), 1u);
  CHECK_EQ(world.stats.saRequests.get(), 1u);
}

TEST("sa: two handles on one group share it, and only the last free sends a Delete") {
  World world;
  const HandleId a = world.member(1);
  const HandleId b = world.member(1);
  CHECK_EQ(world.trace(), "Set 1/1");
  world.free(a);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK(!world.client.unsettled());
  world.free(b);
  CHECK(world.client.unsettled());
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK_EQ(world.last().mad.componentMask, kJoinMask);
  CHECK(world.last().record.portGid == world.transport.state.gid);
  CHECK(world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
  CHECK_EQ(world.sink.told(a) + "," + world.sink.told(b), "0,0");
}

TEST("sa: bits are counted one by one") {
  World world;
  const HandleId full = world.member(1, 1);
  const HandleId sendOnly = world.member(1, 4);
  const HandleId both = world.member(1, 5);
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/4");
  // What a handle is told is what it holds, not what the port has gathered.
  CHECK_EQ(world.sink.last(both).record->joinState, 5);
  CHECK_EQ(world.sink.last(sendOnly).record->joinState, 4);
  const size_t mark = world.mark();
  world.free(full);
  world.run();
  CHECK_EQ(world.trace(mark), "");
  world.free(both);
  world.run();
  CHECK_EQ(world.trace(mark), "Delete 1/1");
  world.answerLast();
  world.free(sendOnly);
  world.run();
  world.answerLast();
  CHECK_EQ(world.trace(mark), "Delete 1/1, Delete 1/4");
  world.checkEmpty();
}

TEST("sa: bits that an answer adds are not ours to leave") {
  World world;
  const HandleId a = world.join(1, 1);
  world.run();
  McMemberRecord record = grantedRecord(world.last().record);
  record.joinState = 5;
  world.answerLast(0, record);
  CHECK_EQ(world.sink.last(a).record->joinState, 1);
  const HandleId b = world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/4");
  world.answerLast();
  world.free(b);
  world.free(a);
  world.run();
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/4, Delete 1/5");
  world.checkEmpty();
}

TEST("sa: a port GID apart makes a group apart, but the port's own does not") {
  World world;
  world.member(1);
  sa::JoinSpec own = joinSpec(1);
  own.record.portGid = world.transport.state.gid;
  const HandleId same = world.join(own);
  world.run();
  CHECK_EQ(world.sink.told(same), "0");
  CHECK_EQ(world.trace(), "Set 1/1");
  sa::JoinSpec other = joinSpec(1);
  other.record.portGid = world.transport.state.gid;
  other.record.portGid.bytes[15] = 99;
  const HandleId proxy = world.join(other);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1");
  CHECK(world.last().record.portGid == other.record.portGid);
  world.answerLast();
  world.free(proxy);
  world.run();
  CHECK(world.last().record.portGid == other.record.portGid);
  CHECK_EQ(world.trace(2), "Delete 1/1");
}

TEST("sa: freed while queued, nothing is sent") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  world.join(1);
  const HandleId queued = world.join(2);
  const HandleId behind = world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1");
  world.free(queued);
  world.free(behind);
  CHECK(!world.client.unsettled());
  world.answerLast();
  world.advance(ms(10000));
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK_EQ(world.sink.told(queued) + world.sink.told(behind), "");
  CHECK_EQ(world.stats.groups.get(), 1u);
}

TEST("sa: freed before the first run, nothing is sent") {
  World world;
  const HandleId a = world.join(1);
  world.free(a);
  world.advance(ms(5000));
  CHECK_EQ(world.trace(), "");
  world.checkEmpty();
}

TEST("sa: a free of an unknown handle is ignored") {
  World world;
  CHECK(!world.client.free(world.now, 77));
  const HandleId a = world.member(1);
  CHECK(world.client.free(world.now, a));
  CHECK(!world.client.free(world.now, a));
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
}

TEST("sa: freed with the Set in flight, left again after success") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.free(a);
  CHECK(world.client.unsettled());
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1");
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  world.answerLast();
  world.checkEmpty();
  CHECK_EQ(world.sink.told(a), "");
}

TEST("sa: freed with the Set in flight, no further attempt, and a compensating Delete") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.advance(ms(300));
  world.free(a);
  world.advance(ms(699));
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK(world.client.unsettled());
  world.advance(ms(1));
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 1u);
  CHECK_EQ(world.sink.count(DiagnosticKind::kCompensatingLeave), 1);
  world.answerLast(codec::kSaReqInvalid);
  world.checkEmpty();
  CHECK_EQ(world.sink.told(a), "");
}

TEST("sa: freed with the Set in flight, nothing to leave after a refusal") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.free(a);
  world.answerLast(codec::kSaReqInvalid);
  world.advance(ms(5000));
  CHECK_EQ(world.trace(), "Set 1/1");
  world.checkEmpty();
}

TEST("sa: freed and joined again with the Set in flight, the new join has what it gained") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.free(a);
  const HandleId b = world.join(1);
  world.answerLast();
  CHECK_EQ(world.sink.told(b), "0");
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK(!world.client.unsettled());
}

TEST("sa: unsubscribed and subscribed at one instant, joined and still a member") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  const HandleId b = world.join(1);
  CHECK_EQ(world.sink.told(b), "0");
  world.advance(ms(5000));
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK(!world.client.unsettled());
}

TEST("sa: joined again while the Delete is in flight, a Set follows its answer") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  world.run();
  const HandleId b = world.join(1);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK_EQ(world.sink.told(b), "");
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(b), "0");
  world.advance(ms(5000));
  CHECK_EQ(world.mark(), 3u);
}

TEST("sa: a Delete that was never answered may have been executed, so a rejoin asks the SA") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  world.run();
  const HandleId b = world.join(1);
  world.advance(ms(3000));
  CHECK_EQ(world.sink.told(b), "");
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1, Delete 1/1, Delete 1/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(b), "0");
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 5u);
  CHECK(!world.client.unsettled());
}

TEST("sa: a leave that a rejoin made moot does not use up the retries of the next one") {
  World world;
  HandleId a = world.member(1);
  world.free(a);
  world.advance(ms(3000 * 2));
  a = world.join(1);  // behind the third of four Deletes
  world.advance(ms(3000));
  world.answerLast();
  CHECK_EQ(world.sink.told(a), "0");
  const uint64_t before = world.stats.leavesSent;
  world.free(a);
  world.advance(ms(3000 * 4));
  CHECK_EQ(world.stats.leavesSent - before, 4u);
}

TEST("sa: one request per group at a time, joins in order") {
  World world;
  const HandleId a = world.join(1, 1);
  const HandleId b = world.join(1, 2);
  const HandleId c = world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1");
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/2");
  world.free(a);
  world.run();
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/2, Set 1/4");
  CHECK_EQ(world.sink.told(b), "0");
  world.answerLast();
  CHECK_EQ(world.sink.told(c), "0");
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/2, Set 1/4, Delete 1/1");
}

TEST("sa: a failed join does not hold up the next of its group") {
  World world;
  const HandleId a = world.join(1);
  const HandleId b = world.join(1);
  world.run();
  world.answerLast(codec::kSaNoResources);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaNoResources);
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(b), "0");
}

TEST("sa: the window bounds the requests of the port, and groups go in order") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 3;
  World world(options);
  for (uint8_t i = 1; i <= 10; ++i) world.join(i);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Set 2/1, Set 3/1");
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.run();
  CHECK_EQ(world.trace(3), "Set 4/1");
  for (size_t i = 0; i < world.transport.sent.size(); ++i) {
    if (i != 1) world.transport.answer(SentMad{world.transport.sent[i]});
    world.run();
  }
  CHECK_EQ(world.mark(), 10u);
  CHECK_EQ(world.stats.outstandingPeak.get(), 3u);
  CHECK_EQ(world.stats.joined.get(), 10u);
}

TEST("sa: an explanation takes the place of the request it explains") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  world.join(1);
  world.join(2);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(), "Set 1/1, Get 1");
  CHECK_EQ(world.stats.outstandingPeak.get(), 1u);
}

TEST("sa: detach frees the handles of one sink and leaves the others alone") {
  World world;
  RecordingSink other;
  world.client.attach(&other);
  world.stats.joinsStarted.set(5);
  world.stats.handlesAlive.set(5);
  for (uint8_t i = 1; i <= 4; ++i) {
    world.client.join(world.now, 100u + i, std::make_unique<JoinSpec>(joinSpec(i)), &other);
  }
  world.run();
  for (size_t i = 0; i < 4; ++i) world.transport.answer(SentMad{world.transport.sent[i]});
  const HandleId mine = world.member(1);
  CHECK_EQ(other.completions.size(), 4u);
  world.client.detach(world.now, &other);
  CHECK_EQ(world.stats.handlesFreed.get(), 4u);
  CHECK_EQ(world.stats.handlesAlive.get(), 1u);
  world.run();
  CHECK_EQ(world.trace(4), "Delete 2/1, Delete 3/1, Delete 4/1");
  world.event(ResetReason::kSmChange);
  CHECK_EQ(world.sink.told(mine), "0 -102");
  CHECK_EQ(other.completions.size(), 4u);
  CHECK_EQ(other.diagnostics.size(), 0u);
}

TEST("sa: of the handles that are detached none is told that another's free has let it in") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  RecordingSink leaving;
  world.client.attach(&leaving);
  const HandleId stays = world.member(1);
  world.join(2);  // fills the window
  world.run();
  // The second needs nothing but the group that is held, and waits behind the first.
  world.client.join(world.now, 101, std::make_unique<JoinSpec>(joinSpec(1, 4)), &leaving);
  world.client.join(world.now, 102, std::make_unique<JoinSpec>(joinSpec(1)), &leaving);
  CHECK_EQ(leaving.completions.size(), 0u);
  world.client.detach(world.now, &leaving);
  CHECK_EQ(leaving.completions.size(), 0u);
  world.answerLast();
  CHECK_EQ(world.trace(), "Set 1/1, Set 2/1");
  CHECK_EQ(world.sink.told(stays), "0");
}

TEST("sa: the port is watched while there are groups, and from before the first join is judged") {
  World world;
  CHECK_EQ(world.transport.watchCalls.size(), 0u);
  const HandleId a = world.member(1);
  const HandleId b = world.member(2);
  CHECK_EQ(world.transport.watchCalls.size(), 1u);
  world.free(a);
  world.free(b);
  world.run();
  world.transport.answer(SentMad{world.transport.sent[2]});
  world.transport.answer(SentMad{world.transport.sent[3]});
  world.run();
  CHECK_EQ(world.transport.watchCalls.size(), 2u);
  CHECK(world.transport.watchCalls[0] && !world.transport.watchCalls[1]);
  world.checkEmpty();
}

}  // namespace
}  // namespace rxib::test
