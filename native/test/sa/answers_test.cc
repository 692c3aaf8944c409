// Time, repeats, and which answers count.
#include "world.h"

namespace rxib::test {
namespace {

TEST("sa: three attempts of a second each, new transaction ids, then ETIMEDOUT") {
  World world;
  const HandleId a = world.join(1);
  world.advance(ms(2999));
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Set 1/1");
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(world.transport.sent[static_cast<size_t>(i)].at.time_since_epoch().count(),
             i * 1'000'000);
  }
  CHECK(world.transport.sent[0].transaction() != world.transport.sent[1].transaction());
  CHECK(world.transport.sent[1].transaction() != world.transport.sent[2].transaction());
  CHECK_EQ(world.transport.sent[0].mad.transactionId >> 32, 0u);
  CHECK_EQ(world.sink.told(a), "");
  world.advance(ms(1));
  CHECK_EQ(world.sink.told(a), "-110");
  CHECK(!world.sink.last(a).saStatus.has_value());
  CHECK_EQ(world.stats.timeouts.get(), 1u);
  CHECK_EQ(world.stats.retries.get(), 2u);
  CHECK_EQ(world.stats.saRequests.get(), 4u);  // the compensating Delete is the fourth
  CHECK_EQ(world.stats.joinsSent.get(), 1u);
}

TEST("sa: the time counts from sending, not from joining") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  world.join(1);
  const HandleId b = world.join(2);
  world.advance(ms(2500));
  world.transport.answer(SentMad{world.transport.sent[2]});
  world.advance(ms(2999));
  CHECK_EQ(world.sink.told(b), "");
  world.advance(ms(1));
  CHECK_EQ(world.sink.told(b), "-110");
}

TEST("sa: an answer to any attempt counts") {
  for (size_t attempt = 0; attempt < 3; ++attempt) {
    World world;
    const HandleId a = world.join(1);
    world.advance(ms(2500));
    world.transport.answer(SentMad{world.transport.sent[attempt]});
    world.run();
    CHECK_EQ(world.sink.told(a), "0");
    // The other attempts' answers are late now, and harmless: the bits are wanted.
    for (size_t i = 0; i < 3; ++i) {
      if (i != attempt) world.transport.answer(SentMad{world.transport.sent[i]});
    }
    world.advance(ms(5000));
    CHECK_EQ(world.stats.lateReplies.get(), 2u);
    CHECK_EQ(world.mark(), 3u);
    CHECK_EQ(world.sink.told(a), "0");
  }
}

TEST("sa: BUSY is retried within the budget, then ETIMEDOUT with the status kept") {
  World world;
  world.transport.script = [&](const SentMad& mad) {
    world.transport.answer(mad, codec::kSaBusy, ms(5));
    return kOk;
  };
  const HandleId a = world.join(1);
  world.advance(ms(2999));
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Set 1/1");
  world.advance(ms(1));
  CHECK_EQ(world.sink.told(a), "-110");
  CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaBusy);
  // BUSY says that nothing was executed: there is nothing to leave.
  world.advance(ms(5000));
  CHECK_EQ(world.mark(), 3u);
  world.checkEmpty();
}

TEST("sa: after BUSY and then silence the Set is unresolved") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.answerLast(codec::kSaBusy);
  world.advance(ms(3000));
  CHECK_EQ(world.sink.told(a), "-110");
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/1, Set 1/1, Delete 1/1");
}

TEST("sa: BUSY once, then granted") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.answerLast(codec::kSaBusy);
  world.advance(ms(999));
  CHECK_EQ(world.mark(), 1u);
  world.advance(ms(1));
  world.answerLast();
  CHECK_EQ(world.sink.told(a), "0");
}

TEST("sa: a send that fails is EIO, told by the next run, and compensated") {
  World world;
  int failures = 1;
  world.transport.script = [&](const SentMad&) {
    return failures-- > 0 ? static_cast<int>(kEIO) : static_cast<int>(kOk);
  };
  const HandleId a = world.join(1);
  CHECK_EQ(world.sink.told(a), "");
  world.run();
  CHECK_EQ(world.sink.told(a), "-5");
  CHECK_EQ(world.stats.sendFailures.get(), 1u);
  CHECK_EQ(world.trace(), "Delete 1/1");
  world.answerLast(codec::kSaReqInvalid);
  world.checkEmpty();
}

TEST("sa: a repeat that fails to be sent is EIO; the first attempt may have been granted") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.transport.script = [](const SentMad&) { return kENODEV; };
  world.advance(ms(1000));
  CHECK_EQ(world.sink.told(a), "-5");
  CHECK(world.client.unsettled() || world.stats.leavesFailed.get() == 1u);
  world.transport.script = nullptr;
  world.advance(ms(60000));
  CHECK_EQ(world.trace().substr(0, 21), "Set 1/1, Delete 1/1, ");
}

TEST("sa: a Set that times out is followed by a compensating Delete") {
  World world;
  const HandleId a = world.join(1);
  world.advance(ms(3000));
  CHECK_EQ(world.sink.told(a), "-110");
  CHECK_EQ(world.trace(3), "Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 1u);
  // Its retries are repeats of one compensation.
  world.advance(ms(3000));
  CHECK_EQ(world.stats.leavesSent.get(), 2u);
  CHECK_EQ(world.stats.compensatingLeaves.get(), 1u);
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a new join makes the compensating Delete moot") {
  sa::Options options = quietOptions();
  options.maxOutstanding = 1;
  World world(options);
  world.join(1);
  world.join(2);  // takes the window when the first has timed out
  world.advance(ms(3000));
  const HandleId again = world.join(1);
  world.answerLast();
  CHECK_EQ(world.trace(3), "Set 2/1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(again), "0");
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), 5u);
  world.free(again);
  world.run();
  CHECK_EQ(world.trace(5), "Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 0u);
}

TEST("sa: a late success that nobody waits for is left") {
  World world;
  const HandleId a = world.join(1);
  world.advance(ms(3000));
  const SentMad set = world.transport.sent[2];
  world.answerLast(codec::kSaReqInvalid);  // the compensating Delete came before the Set
  world.checkEmpty();
  world.free(a);
  world.transport.answer(set);
  world.run();
  CHECK_EQ(world.trace(4), "Delete 1/1");
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  CHECK_EQ(world.stats.compensatingLeaves.get(), 2u);
  CHECK(world.client.unsettled());
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: a late success while its bits are being deleted has them deleted once more") {
  World world;
  world.join(1);
  world.advance(ms(3000));
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.run();
  CHECK_EQ(world.trace(3), "Delete 1/1");
  world.answerLast();
  CHECK_EQ(world.trace(3), "Delete 1/1, Delete 1/1");
  world.answerLast(codec::kSaReqInvalid);
  world.checkEmpty();
}

TEST("sa: a late success of bits that were joined again changes nothing") {
  World world;
  world.join(1);
  world.advance(ms(3000));
  world.answerLast(codec::kSaReqInvalid);
  const HandleId b = world.member(1);
  const size_t mark = world.mark();
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.advance(ms(60000));
  CHECK_EQ(world.mark(), mark);
  CHECK_EQ(world.sink.told(b), "0");
}

TEST("sa: a late success has to name the group, as any other") {
  World world;
  world.join(1);
  world.advance(ms(3000));
  world.answerLast();
  world.transport.answer(SentMad{world.transport.sent[0]}, 0, grantedRecord(joinSpec(9).record));
  world.run();
  CHECK_EQ(world.stats.malformedReplies.get(), 1u);
  CHECK_EQ(world.stats.lateReplies.get(), 0u);
  CHECK_EQ(world.mark(), 4u);
  world.checkEmpty();
}

TEST("sa: answered requests are remembered for their duplicates, but not forever") {
  World world;
  auto cycle = [&] {
    world.free(world.member(1));
    world.run();
    world.answerLast();
  };
  cycle();
  for (int i = 0; i < 500; ++i) cycle();
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.run();
  CHECK_EQ(world.stats.duplicateReplies.get(), 1u);
  for (int i = 0; i < 500; ++i) cycle();
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.run();
  CHECK_EQ(world.stats.duplicateReplies.get(), 1u);
  // It is still known for one of ours.
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  CHECK_EQ(world.stats.foreignReplies.get(), 0u);
}

TEST("sa: freed when all that came was BUSY, it is over at once") {
  for (int order = 0; order < 2; ++order) {
    for (const Gid& group : {mgid(1), Gid{}}) {
      World world;
      const HandleId a = world.join(joinSpec(group));
      world.run();
      if (order == 0) world.answerLast(codec::kSaBusy);
      world.free(a);
      world.run();
      if (order == 1) world.answerLast(codec::kSaBusy);
      world.checkEmpty();
      CHECK_EQ(world.mark(), 1u);
    }
  }
}

TEST("sa: a late refusal means nothing") {
  World world;
  world.join(1);
  world.advance(ms(3000));
  world.answerLast();
  world.transport.answer(SentMad{world.transport.sent[0]}, codec::kSaNoResources);
  world.run();
  CHECK_EQ(world.mark(), 4u);
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  world.checkEmpty();
}

TEST("sa: a refusal of one attempt does not speak for another that went unanswered") {
  World world;
  const HandleId a = world.join(1);
  world.advance(ms(1500));
  world.transport.answer(SentMad{world.transport.sent[1]}, codec::kSaNoResources);
  world.run();
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.trace(2), "Delete 1/1");
  CHECK_EQ(world.stats.compensatingLeaves.get(), 1u);
  world.answerLast();
  world.checkEmpty();
}

TEST("sa: duplicates are counted and dropped") {
  World world;
  const HandleId a = world.member(1);
  world.transport.answer(SentMad{world.last()});
  world.run();
  CHECK_EQ(world.stats.duplicateReplies.get(), 1u);
  CHECK_EQ(world.sink.count(DiagnosticKind::kDuplicateReply), 1);
  CHECK_EQ(world.sink.told(a), "0");
  // Of an attempt that ended unanswered, the second late answer is the duplicate.
  world.join(2);
  world.advance(ms(3000));
  world.answerLast();
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.run();
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
  CHECK_EQ(world.stats.duplicateReplies.get(), 2u);
}

TEST("sa: a duplicate of a live attempt's BUSY is dropped too") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.answerLast(codec::kSaBusy);
  world.transport.answer(SentMad{world.last()});
  world.run();
  CHECK_EQ(world.sink.told(a), "");
  CHECK_EQ(world.stats.duplicateReplies.get(), 1u);
}

/** Delivers `mad` while a join waits, checks that it did not count, and lets the join succeed. */
template <typename Forge>
void checkDropped(Forge forge, Counter PortStats::* counter, DiagnosticKind kind) {
  World world;
  const HandleId a = world.join(1);
  world.run();
  const SentMad set = world.last();
  codec::SaMad mad = responseTo(set, 0, grantedRecord(set.record));
  uint16_t lid = set.lid;
  ReceivedMad received;
  forge(mad, lid, received);
  if (received.bytes.empty()) received = test::received(mad, lid);
  world.transport.deliver(received);
  world.run();
  CHECK_EQ(world.sink.told(a), "");
  CHECK_EQ((world.stats.*counter).get(), 1u);
  CHECK_EQ(world.sink.count(kind), 1);
  CHECK_EQ(world.sink.diagnostics.size(), 1u);
  world.transport.answer(set);
  world.run();
  CHECK_EQ(world.sink.told(a), "0");
  CHECK_EQ(world.stats.lateReplies + world.stats.duplicateReplies + world.stats.foreignReplies +
               world.stats.malformedReplies,
           1u);
}

TEST("sa: what is no answer to the request is dropped as malformed") {
  auto malformed = [](auto forge) {
    checkDropped(forge, &PortStats::malformedReplies, DiagnosticKind::kMalformedReply);
  };
  using Mad = codec::SaMad;
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.method = 0x95; });
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.method = 0x02; });
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.attributeId = 0x35; });
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.classVersion = 1; });
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.baseVersion = 2; });
  // A success has to name the group.
  malformed([](Mad& mad, uint16_t&, ReceivedMad&) { mad.data[15] ^= 1; });
  for (size_t length :
       {size_t{1}, size_t{23}, size_t{24}, size_t{255}, size_t{257}, size_t{2048}}) {
    malformed([length](Mad& mad, uint16_t& lid, ReceivedMad& out) {
      out = received(mad, lid);
      out.bytes.resize(length);
    });
  }
}

TEST("sa: what answers no request of ours is dropped as foreign") {
  auto foreign = [](auto forge) {
    checkDropped(forge, &PortStats::foreignReplies, DiagnosticKind::kForeignReply);
  };
  using Mad = codec::SaMad;
  foreign([](Mad& mad, uint16_t&, ReceivedMad&) { mad.transactionId += 1000; });
  foreign([](Mad& mad, uint16_t&, ReceivedMad&) { mad.managementClass = 0x81; });
  foreign([](Mad&, uint16_t& lid, ReceivedMad&) { lid = 3; });
}

TEST("sa: an empty MAD is malformed") {
  World world;
  world.transport.deliver(ReceivedMad{});
  world.run();
  CHECK_EQ(world.stats.malformedReplies.get(), 1u);
}

TEST("sa: the high half of a transaction id is the transport's") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  codec::SaMad mad = responseTo(world.last(), 0, grantedRecord(world.last().record));
  mad.transactionId |= 0xabcdef0100000000ull;
  world.transport.deliver(received(mad, 1));
  world.run();
  CHECK_EQ(world.sink.told(a), "0");
}

TEST("sa: an attempt is answered by the LID it was sent to, also after the SM has moved") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.transport.state.smLid = 8;
  world.advance(ms(1000));
  CHECK_EQ(world.last().lid, 8);
  world.transport.deliver(
      received(responseTo(world.transport.sent[1], 0, grantedRecord(joinSpec(1).record)), 1));
  world.run();
  CHECK_EQ(world.stats.foreignReplies.get(), 1u);
  world.transport.answer(SentMad{world.transport.sent[0]});
  world.run();
  CHECK_EQ(world.sink.told(a), "0");
}

TEST("sa: an answer that comes after all memory of its request is late, and moves nothing") {
  World world;
  world.join(1);
  world.advance(ms(3000));
  world.answerLast();
  world.advance(ms(61000));
  // The first and the last id of all that were sent, and those on either side. The last was
  // answered and is still remembered.
  for (size_t i : {size_t{0}, world.mark() - 1}) {
    for (int beside : {-1, 0, 1}) {
      SentMad sent = world.transport.sent[i];
      sent.mad.transactionId += static_cast<uint64_t>(beside);
      world.transport.answer(sent);
    }
  }
  world.run();
  CHECK_EQ(world.stats.foreignReplies.get(), 2u);
  CHECK_EQ(world.stats.lateReplies.get(), 3u);
  CHECK_EQ(world.stats.duplicateReplies.get(), 1u);
  CHECK_EQ(world.mark(), 4u);
}

TEST("sa: the start of the transaction ids follows the seed") {
  sa::Options options = quietOptions();
  World first(options);
  options.seed = 0xfeedfacecafebeefull;
  World second(options);
  first.member(1);
  second.member(1);
  CHECK(first.last().transaction() != second.last().transaction());
}

}  // namespace
}  // namespace rxib::test
