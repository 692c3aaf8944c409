// Joins that are answered without asking, and refusals that are explained.
#include "sa/compare.h"

#include "world.h"

namespace rxib::test {
namespace {

constexpr uint64_t b(McComponent component) { return rxib::bit(component); }

struct Wanted {
  McMemberRecord record;
  uint64_t mask = 0;
};

Wanted wantedRate(uint8_t code, Selector selector) {
  Wanted wanted;
  wanted.record.rate = code;
  wanted.record.rateSelector = static_cast<uint8_t>(selector);
  wanted.mask = b(McComponent::kRate) | b(McComponent::kRateSelector);
  return wanted;
}

TEST("sa compare: rates are compared in Gb/s and not in codes") {
  McMemberRecord group;
  group.rate = 5;  // 5 Gb/s, below code 3 with 10 Gb/s
  auto differs = [&](uint8_t code, Selector selector) {
    Wanted wanted = wantedRate(code, selector);
    return sa::differingComponents(group, wanted.record, wanted.mask) != 0;
  };
  CHECK(differs(3, Selector::kGreaterThan));
  CHECK(!differs(3, Selector::kLessThan));
  CHECK(!differs(2, Selector::kGreaterThan));
  CHECK(differs(2, Selector::kLessThan));
  CHECK(!differs(5, Selector::kExactly));
  CHECK(differs(5, Selector::kLessThan));
  CHECK(differs(5, Selector::kGreaterThan));
  CHECK(!differs(25, Selector::kLargest));
  // A code nobody has defined is compared as it stands.
  CHECK(!differs(63, Selector::kLessThan));
}

TEST("sa compare: MTU and lifetime by each selector") {
  McMemberRecord group;
  group.mtu = 4;
  group.packetLifeTime = 18;
  for (uint8_t value : {uint8_t{3}, uint8_t{4}, uint8_t{5}}) {
    for (uint8_t selector = 0; selector < 4; ++selector) {
      const bool expected = selector == 0   ? 4 > value
                            : selector == 1 ? 4 < value
                            : selector == 2 ? 4 == value
                                            : true;
      McMemberRecord wanted;
      wanted.mtu = value;
      wanted.mtuSelector = selector;
      CHECK_EQ(sa::differingComponents(group, wanted,
                                       b(McComponent::kMtu) | b(McComponent::kMtuSelector)),
               expected ? 0 : b(McComponent::kMtu));
      wanted.packetLifeTime = static_cast<uint8_t>(value + 14);
      wanted.packetLifeTimeSelector = selector;
      CHECK_EQ(sa::differingComponents(
                   group, wanted,
                   b(McComponent::kPacketLifeTime) | b(McComponent::kPacketLifeTimeSelector)),
               expected ? 0 : b(McComponent::kPacketLifeTime));
    }
  }
}

TEST("sa compare: a value without its selector is ignored, a selector without its value is not") {
  McMemberRecord group;
  group.mtu = 4;
  McMemberRecord wanted;
  wanted.mtu = 1;
  wanted.mtuSelector = 2;
  CHECK_EQ(sa::differingComponents(group, wanted, b(McComponent::kMtu)), 0u);
  CHECK_EQ(sa::differingComponents(group, wanted, b(McComponent::kMtuSelector)),
           b(McComponent::kMtuSelector));
}

TEST("sa compare: each plain field counts under its own bit, and only there") {
  McMemberRecord group;
  struct Field {
    McComponent component;
    void (*set)(McMemberRecord&);
  };
  const Field fields[] = {
      {McComponent::kQkey, [](McMemberRecord& r) { r.qkey = 9; }},
      {McComponent::kMlid, [](McMemberRecord& r) { r.mlid = 9; }},
      {McComponent::kTrafficClass, [](McMemberRecord& r) { r.trafficClass = 9; }},
      {McComponent::kPkey, [](McMemberRecord& r) { r.pkey = 9; }},
      {McComponent::kSl, [](McMemberRecord& r) { r.sl = 9; }},
      {McComponent::kFlowLabel, [](McMemberRecord& r) { r.flowLabel = 9; }},
      {McComponent::kHopLimit, [](McMemberRecord& r) { r.hopLimit = 9; }},
      {McComponent::kScope, [](McMemberRecord& r) { r.scope = 9; }},
  };
  McMemberRecord all;
  for (const Field& field : fields) field.set(all);
  uint64_t mask = 0;
  for (const Field& field : fields) {
    CHECK_EQ(sa::differingComponents(group, all, b(field.component)), b(field.component));
    mask |= b(field.component);
  }
  CHECK_EQ(sa::differingComponents(group, all, mask), mask);
  all.mtuSelector = all.rateSelector = all.packetLifeTimeSelector = 3;
  CHECK_EQ(sa::differingComponents(group, all, ~mask), 0u);
}

TEST("sa compare: full and limited membership are one partition") {
  McMemberRecord group;
  group.pkey = 0xffff;
  McMemberRecord wanted;
  wanted.pkey = 0x7fff;
  CHECK_EQ(sa::differingComponents(group, wanted, b(McComponent::kPkey)), 0u);
}

TEST("sa: a second join that differs is refused without a request, fields named") {
  World world;
  world.member(1);
  sa::JoinSpec spec = joinSpec(1);
  spec.record.qkey = 0x99;
  spec.record.mtu = 1;
  spec.record.mtuSelector = 2;
  spec.mask |= b(McComponent::kMtu) | b(McComponent::kMtuSelector);
  const HandleId other = world.join(spec);
  CHECK_EQ(world.sink.told(other), "-22");
  CHECK_EQ(world.sink.last(other).fields, b(McComponent::kQkey) | b(McComponent::kMtu));
  CHECK(!world.sink.last(other).saStatus.has_value());
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1");
  CHECK_EQ(world.stats.failed.get(), 1u);
  // Nothing about the first has changed.
  world.free(other);
  world.advance(ms(1000));
  CHECK_EQ(world.trace(), "Set 1/1");
}

TEST("sa: REQ_INVALID has the group fetched once, and names what differs") {
  World world;
  const HandleId a = world.join(1);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  CHECK_EQ(world.trace(), "Set 1/1, Get 1");
  CHECK_EQ(world.last().mad.componentMask, b(McComponent::kMgid));
  CHECK_EQ(world.sink.told(a), "");
  McMemberRecord group = grantedRecord(joinSpec(1).record);
  group.qkey = 0x77;
  world.answerLast(0, group);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.sink.last(a).fields, b(McComponent::kQkey));
  CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaReqInvalid);
  CHECK(!world.sink.last(a).record.has_value());
  world.advance(ms(10000));
  CHECK_EQ(world.mark(), 2u);
  world.checkEmpty();
}

TEST("sa: an explanation that finds nothing, is refused or stays away leaves the fields absent") {
  for (int how = 0; how < 3; ++how) {
    World world;
    const HandleId a = world.join(1);
    world.run();
    world.answerLast(codec::kSaReqInvalid);
    if (how == 0) world.answerLast(0, grantedRecord(joinSpec(1).record));
    if (how == 1) world.answerLast(codec::kSaNoRecords);
    if (how == 2) world.advance(ms(3000));
    CHECK_EQ(world.sink.told(a), "-22");
    CHECK_EQ(world.sink.last(a).fields, 0u);
    CHECK_EQ(world.sink.last(a).saStatus.value(), codec::kSaReqInvalid);
    world.checkEmpty();
  }
}

TEST("sa: freed while being explained, nothing more is told or sent") {
  World world;
  const HandleId a = world.join(1);
  const HandleId b1 = world.join(1);
  world.run();
  world.answerLast(codec::kSaReqInvalid);
  world.free(a);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Get 1, Set 1/1");
  world.answerLast();
  CHECK_EQ(world.sink.told(b1), "0");
  world.transport.answer(SentMad{world.transport.sent[1]});
  world.run();
  CHECK_EQ(world.sink.told(a), "");
  CHECK_EQ(world.stats.lateReplies.get(), 1u);
}

TEST("sa: INSUFFICIENT_COMPONENTS names what the mask lacks") {
  World world;
  sa::JoinSpec spec = joinSpec(1);
  spec.mask = kJoinMask | b(McComponent::kSl);
  const HandleId a = world.join(spec);
  world.run();
  world.answerLast(codec::kSaInsufficientComponents);
  CHECK_EQ(world.sink.told(a), "-22");
  CHECK_EQ(world.sink.last(a).fields, b(McComponent::kQkey) | b(McComponent::kTrafficClass) |
                                          b(McComponent::kPkey) | b(McComponent::kFlowLabel));
  CHECK_EQ(world.trace(), "Set 1/1");
}

TEST("sa: other refusals are EINVAL with the SA's status, REDIRECT among them") {
  for (uint16_t status : {codec::kSaRedirect, codec::kSaNoResources, codec::kSaReqDenied,
                          codec::kSaReqInvalidGid, codec::kSaMethodUnsupported}) {
    World world;
    const HandleId a = world.join(1);
    world.run();
    world.answerLast(status);
    CHECK_EQ(world.sink.told(a), "-22");
    CHECK_EQ(world.sink.last(a).saStatus.value(), status);
    CHECK_EQ(world.sink.last(a).fields, 0u);
    world.advance(ms(5000));
    CHECK_EQ(world.trace(), "Set 1/1");
    world.checkEmpty();
  }
}

TEST("sa: a join without any bit is for the SA to refuse, also beside members") {
  World world;
  world.member(1);
  world.join(1, 0);
  world.run();
  CHECK_EQ(world.trace(), "Set 1/1, Set 1/0");
}

}  // namespace
}  // namespace rxib::test
