// The membership audit.
#include "world.h"

namespace rxib::test {
namespace {

sa::Options auditing() {
  sa::Options options = quietOptions();
  options.auditInterval = ms(10000);
  return options;
}

TEST("sa audit: one Get per interval and port, jittered, round robin") {
  World world(auditing());
  for (uint8_t i = 1; i <= 3; ++i) world.member(i);
  world.transport.script = [&](const SentMad& mad) {
    CHECK(mad.method() == SaMethod::kGet);
    CHECK_EQ(mad.mad.componentMask,
             rxib::bit(McComponent::kMgid) | rxib::bit(McComponent::kPortGid));
    CHECK(mad.record.portGid == world.transport.state.gid);
    McMemberRecord record = mad.record;
    record.qkey = 0x1b;
    record.pkey = 0xffff;
    world.transport.answer(mad, 0, grantedRecord(record));
    return kOk;
  };
  world.advance(ms(600000));
  const size_t audits = world.mark() - 3;
  CHECK(audits >= 50 && audits <= 75);
  CHECK_EQ(world.stats.audits.get(), audits);
  Duration shortest = Duration::max();
  Duration longest{0};
  for (size_t i = 4; i < world.mark(); ++i) {
    const Duration gap = world.transport.sent[i].at - world.transport.sent[i - 1].at;
    shortest = std::min(shortest, gap);
    longest = std::max(longest, gap);
    // In turn: no group twice before every other.
    CHECK(world.transport.sent[i].record.mgid != world.transport.sent[i - 1].record.mgid);
    if (i >= 6) {
      CHECK(world.transport.sent[i].record.mgid == world.transport.sent[i - 3].record.mgid);
    }
  }
  CHECK(shortest >= ms(8000) && longest <= ms(12000));
  CHECK(longest - shortest > ms(1000));
  CHECK_EQ(world.stats.resets.get(), 0u);
}

TEST("sa audit: none without members, and none when switched off") {
  World world(auditing());
  const HandleId a = world.member(1);
  world.free(a);
  world.run();
  world.answerLast();
  world.advance(ms(100000));
  CHECK_EQ(world.mark(), 2u);
  World off;
  off.member(1);
  off.advance(ms(100000));
  CHECK_EQ(off.mark(), 1u);
}

TEST("sa audit: the shortest interval does not spin") {
  sa::Options options = auditing();
  options.auditInterval = Duration{1};
  World world(options);
  world.member(1);
  world.advance(Duration{50});
  CHECK(world.stats.audits.get() >= 1u);
}

TEST("sa audit: NO_RECORDS is a lost membership, and has the rest checked at once") {
  World world(auditing());
  std::vector<HandleId> handles;
  for (uint8_t i = 1; i <= 5; ++i) handles.push_back(world.member(i));
  world.advanceToNextSend();
  CHECK_EQ(world.trace(5), "Get 1");
  world.answerLast(codec::kSaNoRecords);
  CHECK_EQ(world.sink.told(handles[0]), "0 -102");
  CHECK(world.sink.last(handles[0]).reason == ResetReason::kMembershipLost);
  CHECK_EQ(world.trace(6), "Get 2, Get 3, Get 4, Get 5");
  for (size_t i = 6; i < 10; ++i) {
    world.transport.answer(SentMad{world.transport.sent[i]}, codec::kSaNoRecords);
  }
  world.run();
  for (HandleId handle : handles) CHECK_EQ(world.sink.told(handle), "0 -102");
  // It is not there: nothing is left to delete, now or later.
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 10u);
  world.checkEmpty();
}

TEST("sa audit: a sweep keeps to the window, and can be repeated") {
  sa::Options options = auditing();
  options.maxOutstanding = 2;
  World world(options);
  for (uint8_t i = 1; i <= 6; ++i) world.member(i);
  for (int round = 0; round < 2; ++round) {
    const size_t mark = world.mark();
    world.advanceToNextSend();
    CHECK_EQ(world.mark(), mark + 1);
    world.answerLast(codec::kSaNoRecords);
    CHECK_EQ(world.stats.outstanding.get(), 2u);
    for (size_t i = mark + 1; i < world.mark(); ++i) {
      McMemberRecord record = joinSpec(world.transport.sent[i].record.mgid).record;
      world.transport.answer(SentMad{world.transport.sent[i]}, 0, grantedRecord(record));
      world.run();
    }
    CHECK_EQ(world.mark() - mark, static_cast<size_t>(round == 0 ? 6 : 5));
    CHECK_EQ(world.stats.resets.get(), static_cast<uint64_t>(round + 1));
  }
  CHECK_EQ(world.stats.outstandingPeak.get(), 2u);
}

TEST("sa audit: further losses do not start the sweep over") {
  sa::Options options = auditing();
  options.maxOutstanding = 1;
  World world(options);
  for (uint8_t i = 1; i <= 6; ++i) world.member(i);
  world.advanceToNextSend();
  for (int i = 0; i < 6; ++i) {
    CHECK_EQ(world.mark(), static_cast<size_t>(7 + i));
    if (i % 2 == 0) {
      world.answerLast(codec::kSaNoRecords);
    } else {
      world.answerLast(0, grantedRecord(joinSpec(world.last().record.mgid).record));
    }
  }
  CHECK_EQ(world.trace(6), "Get 1, Get 2, Get 3, Get 4, Get 5, Get 6");
  CHECK_EQ(world.stats.resets.get(), 3u);
}

TEST("sa audit: changed MLID, Q_Key or P_Key is a lost membership, deleted if nobody renews it") {
  void (*const changes[])(McMemberRecord&) = {[](McMemberRecord& r) { r.mlid ^= 1; },
                                              [](McMemberRecord& r) { r.qkey ^= 1; },
                                              [](McMemberRecord& r) { r.pkey ^= 1; }};
  for (auto change : changes) {
    World world(auditing());
    const HandleId a = world.member(1);
    world.advance(ms(12001));
    McMemberRecord record = grantedRecord(joinSpec(1).record);
    change(record);
    world.answerLast(0, record);
    CHECK_EQ(world.sink.told(a), "0 -102");
    CHECK(world.sink.last(a).reason == ResetReason::kMembershipLost);
    world.advance(ms(30000));
    CHECK_EQ(world.trace(), "Set 1/1, Get 1, Delete 1/1");
  }
}

TEST("sa audit: other fields of the answer may change, and PortGID and JoinState be hidden") {
  World world(auditing());
  const HandleId a = world.member(1);
  world.advance(ms(12001));
  McMemberRecord record = grantedRecord(joinSpec(1).record);
  record.portGid = Gid{};
  record.joinState = 0;
  record.rate = 16;
  world.answerLast(0, record);
  CHECK_EQ(world.sink.told(a), "0");
}

TEST("sa audit: silence, BUSY and refusals prove nothing") {
  for (uint16_t status : {codec::kSaOk, codec::kSaBusy, codec::kSaReqInvalid, codec::kSaNoResources,
                          codec::kSaRedirect}) {
    World world(auditing());
    const HandleId a = world.member(1);
    world.transport.script = [&](const SentMad& mad) {
      if (status != codec::kSaOk) world.transport.answer(mad, status);
      return kOk;
    };
    world.advance(ms(60000));
    CHECK(world.mark() > 4);
    CHECK_EQ(world.sink.told(a), "0");
    CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  }
}

TEST("sa audit: gives way to joins and leaves of its group, and is not begun over them") {
  World world(auditing());
  const HandleId a = world.member(1);
  world.advanceToNextSend();
  CHECK_EQ(world.trace(1), "Get 1");
  // A join that can be answered locally does not disturb it.
  const HandleId b = world.join(1);
  CHECK_EQ(world.sink.told(b), "0");
  CHECK_EQ(world.stats.outstanding.get(), 1u);
  const HandleId c = world.join(1, 4);
  world.run();
  CHECK_EQ(world.trace(1), "Get 1, Set 1/4");
  CHECK_EQ(world.stats.outstanding.get(), 1u);
  // Its answer comes late, and says nothing any more.
  world.transport.answer(SentMad{world.transport.sent[1]}, codec::kSaNoRecords);
  world.run();
  CHECK_EQ(world.sink.told(a), "0");
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  // While the Set is out, no audit of this group begins.
  world.advance(ms(2999));
  CHECK_EQ(world.stats.audits.get(), 1u);
  world.answerLast();
  CHECK_EQ(world.sink.told(c), "0");
  world.advance(ms(12001));
  CHECK_EQ(world.stats.audits.get(), 2u);
  world.free(c);
  world.run();
  CHECK_EQ(world.stats.outstanding.get(), 1u);
  CHECK(world.last().method() == SaMethod::kDelete);
}

TEST("sa audit: a full window delays it, joins and leaves first") {
  sa::Options options = auditing();
  options.maxOutstanding = 1;
  options.requestTimeout = ms(60000);
  World world(options);
  world.member(1);
  world.join(2);
  world.advance(ms(15000));
  CHECK_EQ(world.stats.audits.get(), 0u);
  world.join(3);
  world.answerLast();
  world.answerLast();
  CHECK_EQ(world.trace(1), "Set 2/1, Set 3/1, Get 1");
}

TEST("sa audit: a loss is followed by a rejoin that asks the SA") {
  World world(auditing());
  const HandleId a = world.member(1);
  world.advance(ms(12001));
  world.answerLast(codec::kSaNoRecords);
  world.free(a);
  const HandleId b = world.member(1);
  CHECK_EQ(world.sink.told(b), "0");
  CHECK_EQ(world.trace(), "Set 1/1, Get 1, Set 1/1");
}

}  // namespace
}  // namespace rxib::test
