// Joins that leave the MGID to the subnet administrator.
#include "world.h"

namespace rxib::test {
namespace {

McMemberRecord assignedRecord(const SentMad& set, uint8_t n) {
  McMemberRecord record = set.record;
  record.mgid = mgid(n);
  return grantedRecord(record);
}

TEST("sa: an assigned MGID names the group from then on") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  CHECK(world.last().record.mgid.isZero());
  CHECK(world.last().timeout == ms(3000));
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.sink.told(a), "0");
  CHECK(world.sink.last(a).record->mgid == mgid(50));
  // Whoever asks for that MGID shares the group.
  const HandleId b = world.join(50);
  CHECK_EQ(world.sink.told(b), "0");
  world.free(a);
  world.run();
  CHECK_EQ(world.mark(), 1u);
  world.free(b);
  world.run();
  CHECK_EQ(world.trace(1), "Delete 50/1");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: joins for an MGID to be assigned never share, and run side by side") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  const HandleId b = world.join(joinSpec(Gid{}));
  world.run();
  CHECK_EQ(world.trace(), "Set 0/1, Set 0/1");
  world.transport.answer(SentMad{world.transport.sent[1]}, 0, assignedRecord(world.last(), 51));
  world.transport.answer(SentMad{world.transport.sent[0]}, 0, assignedRecord(world.last(), 50));
  world.run();
  CHECK(world.sink.last(a).record->mgid == mgid(50));
  CHECK(world.sink.last(b).record->mgid == mgid(51));
  CHECK_EQ(world.stats.groups.get(), 2u);
}

TEST("sa: one attempt with the whole time, then ETIMEDOUT with nothing that could be left") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.advance(ms(2999));
  CHECK_EQ(world.mark(), 1u);
  CHECK_EQ(world.sink.told(a), "");
  world.advance(ms(1));
  CHECK_EQ(world.sink.told(a), "-110");
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 1u);
  world.checkEmpty();
}

TEST("sa: a late success with an assigned MGID is left") {
  World world;
  world.join(joinSpec(Gid{}));
  world.advance(ms(3500));
  world.transport.answer(SentMad{world.transport.sent[0]}, 0, assignedRecord(world.last(), 50));
  world.run();
  CHECK_EQ(world.trace(1), "Delete 50/1");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: freed with the Set in flight, the assigned MGID is left") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  world.free(a);
  CHECK(world.client.unsettled());
  world.advance(ms(2000));
  CHECK(world.client.unsettled());
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.trace(1), "Delete 50/1");
  world.answerLast();
  world.checkEmpty();
  CHECK_EQ(world.sink.told(a), "");
}

TEST("sa: BUSY lets a Set for an assigned MGID be sent again, unless it was freed") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(codec::kSaBusy);
  world.advance(ms(1000));
  CHECK_EQ(world.mark(), 2u);
  world.free(a);
  world.answerLast(codec::kSaBusy);
  world.advance(ms(10000));
  CHECK_EQ(world.mark(), 2u);
  world.checkEmpty();
}

TEST("sa: an SA that stays BUSY ends it within the time") {
  World world;
  world.transport.script = [&](const SentMad& mad) {
    world.transport.answer(mad, codec::kSaBusy);
    return kOk;
  };
  const HandleId a = world.join(joinSpec(Gid{}));
  world.advance(ms(3000));
  CHECK_EQ(world.sink.told(a), "-110");
  CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaBusy);
  CHECK_EQ(world.mark(), 3u);
  world.checkEmpty();
}

TEST("sa: a refusal is not explained, there being no group to fetch") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.mark(), 1u);
  world.checkEmpty();
}

TEST("sa: an assigned MGID that is already in the table is an error, and is deleted") {
  World world;
  const HandleId a = world.member(50, 1);
  const HandleId b = world.join(joinSpec(Gid{}, 5));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.sink.told(b), "-71");
  CHECK_EQ(world.sink.last(b).fields, rxib::bit(McComponent::kMgid));
  // Only what no member of that group needs.
  CHECK_EQ(world.trace(2), "Delete 50/4");
  world.answerLast();
  CHECK_EQ(world.stats.groups.get(), 1u);
  CHECK_EQ(world.sink.told(a), "0");
  world.free(a);
  world.run();
  CHECK_EQ(world.trace(3), "Delete 50/1");
}

TEST("sa: an MGID assigned once more takes the place of the membership lost to a reset") {
  World world;
  for (int i = 0; i < 2; ++i) {
    world.join(joinSpec(Gid{}, 5));
    world.run();
    world.answerLast(0, assignedRecord(world.last(), static_cast<uint8_t>(50 + i)));
  }
  // The restarted subnet manager counts from the start again, and the order of joins is another.
  world.event(ResetReason::kSmChange);
  const HandleId a = world.join(joinSpec(Gid{}, 1));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 51));
  const HandleId b = world.join(joinSpec(Gid{}, 1));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.sink.told(a) + " " + world.sink.told(b), "0 0");
  CHECK_EQ(world.stats.groups.get(), 2u);
  world.advance(ms(30000));
  // The bits that were not renewed go, the others stay.
  CHECK_EQ(world.trace(4), "Delete 51/4, Delete 50/4");
  for (size_t i = 4; i < 6; ++i) world.transport.answer(SentMad{world.transport.sent[i]});
  world.run();
  world.free(a);
  world.free(b);
  world.run();
  CHECK_EQ(world.trace(6), "Delete 51/1, Delete 50/1");
  for (size_t i = 6; i < 8; ++i) world.transport.answer(SentMad{world.transport.sent[i]});
  world.run();
  world.checkEmpty();
}

TEST("sa: stale leaves wait for the MGIDs being assigned") {
  World world;
  world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 50));
  world.event(ResetReason::kSmChange);
  world.advance(ms(29000));
  const HandleId a = world.join(joinSpec(Gid{}));
  world.advance(ms(2500));
  CHECK_EQ(world.trace(), "Set 0/1, Set 0/1");
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.sink.told(a), "0");
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 2u);
}

TEST("sa: an MGID assigned once more that is being left is an error, and is left again") {
  World world;
  const HandleId a = world.member(50);
  world.free(a);
  world.run();
  const HandleId b = world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.sink.told(b), "-71");
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.run();
  CHECK_EQ(world.trace(3), "Delete 50/1");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a success without any MGID is no success") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(0, grantedRecord(world.last().record));
  CHECK_EQ(world.sink.told(a), "");
  CHECK_EQ(world.stats.malformedReplies.get(), 1u);
}

TEST("sa: a reset asks anew, and what the first request gained is left") {
  World world;
  const HandleId a = world.join(joinSpec(Gid{}));
  world.run();
  world.event(ResetReason::kSmChange);
  CHECK_EQ(world.trace(), "Set 0/1, Set 0/1");
  world.answerLast(0, assignedRecord(world.last(), 51));
  CHECK(world.sink.last(a).record->mgid == mgid(51));
  world.transport.answer(SentMad{world.transport.sent[0]}, 0,
                         assignedRecord(world.transport.sent[0], 50));
  world.run();
  CHECK_EQ(world.trace(2), "Delete 50/1");
}

TEST("sa: what a former subnet manager assigned is not deleted at the present one") {
  World world;
  world.join(joinSpec(Gid{}));
  world.run();
  world.event(ResetReason::kSmChange, [](PortState& p) { p.smLid = 8; });
  world.transport.answer(SentMad{world.transport.sent[0]}, 0, assignedRecord(world.last(), 50));
  world.run();
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  CHECK_EQ(world.trace(), "Set 0/1, Set 0/1");
  world.answerLast(0, assignedRecord(world.last(), 50));
  CHECK_EQ(world.stats.joined.get(), 1u);
  world.advance(ms(5000));
  CHECK_EQ(world.mark(), 2u);
}

TEST("sa: a lost membership of an assigned MGID goes stale under that MGID") {
  World world;
  world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 50));
  world.event(ResetReason::kLidChange);
  world.join(joinSpec(Gid{}));
  world.run();
  world.answerLast(0, assignedRecord(world.last(), 52));
  world.advance(ms(30000));
  CHECK_EQ(world.trace(2), "Delete 50/1");
}

}  // namespace
}  // namespace rxib::test
