// Leaves: retries, refusals, giving up, and memberships left standing by a reset.
#include "world.h"

namespace rxib::test {
namespace {

TEST("sa: a Delete answered REQ_INVALID is done") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  world.checkEmpty();
  world.advance(ms(60000));
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  CHECK_EQ(world.stats.leavesFailed.get(), 0u);
}

TEST("sa: a refused Delete is retried three times, then given up with a diagnostic") {
  World world;
  world.transport.script = [&](const SentMad& mad) {
    const bool leave = mad.method() == SaMethod::kDelete;
    world.transport.answer(mad, leave ? codec::kSaReqDenied : codec::kSaOk, ms(1));
    return kOk;
  };
  const HandleId a = world.join(1);
  world.advance(ms(10));
  world.free(a);
  world.advance(ms(100));
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1, Delete 1/1, Delete 1/1, Delete 1/1");
  CHECK_EQ(world.stats.leavesFailed.get(), 1u);
  CHECK_EQ(world.stats.leavesSent.get(), 4u);
  CHECK_EQ(world.sink.count(DiagnosticKind::kLeaveFailed), 1);
  const Diagnostic& failure = world.sink.diagnostics.back();
  CHECK_EQ(failure.status, kEINVAL);
  CHECK_EQ(failure.saStatus.value(), codec::kSaReqDenied);
  CHECK(failure.mgid == mgid(1));
  CHECK_EQ(world.sink.told(a), "0");
  world.checkEmpty();
  world.advance(ms(120000));
  CHECK_EQ(world.mark(), 5u);
}

TEST("sa: an unanswered Delete is given up after four requests, and stays due in the background") {
  World world;
  const HandleId a = world.member(1);
  world.free(a);
  world.advance(ms(4 * 3000));
  CHECK_EQ(world.stats.leavesSent.get(), 4u);
  CHECK_EQ(world.mark(), 1u + 4 * 3);
  CHECK_EQ(world.sink.count(DiagnosticKind::kLeaveFailed), 1);
  CHECK_EQ(world.sink.diagnostics.back().status, kETIMEDOUT);
  CHECK(!world.client.unsettled());
  CHECK_EQ(world.stats.groups.get(), 1u);
  const size_t mark = world.mark();
  world.advance(ms(29999));
  CHECK_EQ(world.mark(), mark);
  world.advance(ms(1));
  CHECK_EQ(world.trace(mark), "Delete 1/1");
  CHECK(!world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: Deletes that can't be sent are given up without spinning") {
  World world;
  const HandleId a = world.member(1);
  world.transport.script = [](const SentMad&) { return kEIO; };
  world.free(a);
  world.run();
  CHECK_EQ(world.stats.leavesSent.get(), 4u);
  CHECK_EQ(world.sink.diagnostics.back().status, kEIO);
  world.transport.script = nullptr;
  world.advance(ms(30000));
  CHECK_EQ(world.trace(), "Set 1/1, Delete 1/1");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: all bits that nobody needs leave in one Delete") {
  World world;
  const HandleId a = world.member(1, 1);
  const HandleId b = world.member(1, 8);
  world.free(a);
  world.free(b);
  world.run();
  CHECK_EQ(world.trace(2), "Delete 1/9");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a refused Delete of several bits is tried bit by bit") {
  World world;
  const HandleId stays = world.member(1, 2);
  const HandleId a = world.member(1, 1);
  const HandleId b = world.member(1, 4);
  world.free(a);
  world.free(b);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(3), "Delete 1/5, Delete 1/1");
  CHECK(world.client.unsettled());
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(3), "Delete 1/5, Delete 1/1, Delete 1/4");
  world.answerLast();
  CHECK(!world.client.unsettled());
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  CHECK_EQ(world.stats.leavesFailed.get(), 0u);
  // The next leave of several bits starts whole again.
  const HandleId c = world.member(1, 5);
  world.free(c);
  world.run();
  CHECK_EQ(world.trace(6), "Set 1/5, Delete 1/5");
  world.answerLast();
  world.free(stays);
  world.run();
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a join that comes while a Delete is being split goes first") {
  World world;
  const HandleId a = world.member(1, 5);
  world.free(a);
  world.run();
  world.join(1, 1);
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(), "Set 1/5, Delete 1/5, Set 1/1");
  world.answerLast();
  // What nobody joined again is still to be deleted.
  CHECK_EQ(world.trace(2), "Set 1/1, Delete 1/4");
  world.answerLast();
  CHECK(!world.client.unsettled());
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 4u);
}

TEST("sa: a stale membership is deleted after its time") {
  World world;
  const HandleId a = world.member(1);
  world.event(ResetReason::kLidChange);
  CHECK_EQ(world.sink.told(a), "0 -102");
  world.free(a);
  CHECK(!world.client.unsettled());
  world.advance(ms(29999));
  CHECK_EQ(world.mark(), 1u);
  world.advance(ms(1));
  CHECK_EQ(world.trace(1), "Delete 1/1");
  CHECK_EQ(world.stats.staleLeaves.get(), 1u);
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  CHECK_EQ(world.sink.count(DiagnosticKind::kStaleLeave), 1);
  CHECK(!world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a stale membership that was renewed is not deleted") {
  World world;
  const HandleId a = world.member(1);
  world.event(ResetReason::kLidChange);
  world.free(a);
  world.advance(ms(1000));
  const HandleId b = world.member(1);
  world.advance(ms(120000));
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1");
  // Nor is anything of it remembered.
  world.event(ResetReason::kLidChange);
  world.free(b);
  const HandleId c = world.member(1);
  world.free(c);
  world.run();
  world.answerLast();
  world.checkEmpty();
  CHECK_EQ(world.stats.staleLeaves.get(), 0u);
}

TEST("sa: of a stale membership only the bits that were not renewed are deleted") {
  World world;
  world.member(1, 5);
  world.event(ResetReason::kLidChange);
  world.member(1, 1);
  world.advance(ms(30000));
  CHECK_EQ(world.trace(), "Set 1/5, Set 1/1, Delete 1/4");
}

TEST("sa: a renewal that is refused leaves the membership stale") {
  World world;
  world.member(1);
  world.event(ResetReason::kLidChange);
  world.advance(ms(1000));
  world.join(1);
  world.run();
  world.answerLast(codec::kSaNoResources);
  world.advance(ms(29000));
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Delete 1/1");
}

TEST("sa: stale leaves go behind everything else") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  world.member(1);
  world.event(ResetReason::kLidChange);
  world.advance(ms(29999));
  world.join(2);
  world.join(3);
  world.advance(ms(2));
  CHECK_EQ(world.trace(1), "Set 2/1");
  world.answerLast();
  CHECK_EQ(world.trace(1), "Set 2/1, Set 3/1");
  world.answerLast();
  CHECK_EQ(world.trace(1), "Set 2/1, Set 3/1, Delete 1/1");
}

TEST("sa: a join waits for the stale leave under way, and then asks again") {
  World world;
  world.member(1);
  world.event(ResetReason::kLidChange);
  world.advance(ms(30000));
  CHECK_EQ(world.trace(1), "Delete 1/1");
  const HandleId b = world.join(1);
  world.run();
  CHECK_EQ(world.mark(), 2u);
  world.answerLast();
  CHECK_EQ(world.trace(1), "Delete 1/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(b), "0");
}

TEST("sa: a stale leave interrupted by a reset is in no hurry afterwards either") {
  World world;
  world.member(1);
  world.event(ResetReason::kLidChange);
  world.advance(ms(30000));
  CHECK_EQ(world.trace(1), "Delete 1/1");
  world.event(ResetReason::kSmChange);
  CHECK_EQ(world.trace(1), "Delete 1/1");
  CHECK(!world.client.unsettled());
  world.advance(ms(30000));
  CHECK_EQ(world.trace(1), "Delete 1/1, Delete 1/1");
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a stale leave of several bits that is refused is tried bit by bit") {
  World world;
  world.member(1, 5);
  world.event(ResetReason::kLidChange);
  world.advance(ms(30000));
  world.answerLast(codec::kSaReqInvalid);
  world.answerLast(codec::kSaReqInvalid);
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(1), "Delete 1/5, Delete 1/1, Delete 1/4");
  world.checkEmpty();
}

TEST("sa: leaveStaleNow deletes at once and makes it count as unsettled") {
  World world;
  world.member(1);
  world.member(2);
  world.event(ResetReason::kLidChange);
  CHECK(!world.client.unsettled());
  world.client.leaveStaleNow(world.now);
  CHECK(world.client.unsettled());
  world.run();
  CHECK_EQ(world.trace(2), "Delete 1/1, Delete 2/1");
  CHECK_EQ(world.stats.staleLeaves.get(), 2u);
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
  world.transport.answer(SentMad{world.transport.sent[2]});
  world.transport.answer(SentMad{world.transport.sent[3]});
  world.run();
  world.checkEmpty();
}

TEST("sa: leaveStaleNow waits for a stale leave that is already under way") {
  World world;
  world.member(1);
  world.event(ResetReason::kLidChange);
  world.advance(ms(30000));
  CHECK(!world.client.unsettled());
  world.client.leaveStaleNow(world.now);
  CHECK(world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
  CHECK_EQ(world.mark(), 2u);
  CHECK_EQ(world.stats.staleLeaves.get(), 1u);
}

TEST("sa: a stale time of never keeps quiet, and of zero is at once") {
  sa::Options options = quietOptions();
  options.staleLeave = Duration::max();
  World never(options);
  never.member(1);
  never.event(ResetReason::kLidChange);
  never.advance(std::chrono::hours{1000});
  CHECK_EQ(never.mark(), 1u);
  options.staleLeave = Duration{0};
  World atOnce(options);
  atOnce.member(1);
  atOnce.event(ResetReason::kLidChange);
  CHECK_EQ(atOnce.trace(1), "Delete 1/1");
}

}  // namespace
}  // namespace rxib::test
