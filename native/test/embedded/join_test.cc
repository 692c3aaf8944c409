// Joins, as OpenSM answers them (docs/opensm-behaviour.md).
#include "bench_fabric.h"
#include "check.h"

using namespace rxib;
using namespace rxib::codec;
using namespace rxib::embedded::test;
using rxib::embedded::FabricOptions;

namespace {

uint64_t with(std::initializer_list<McComponent> more) {
  return kMcCreationComponents | maskOf(more);
}

/** Status of a Set that creates a group, which is left again. */
uint16_t tryToCreate(Client& client, const McMemberRecord& record, uint64_t mask) {
  const uint16_t status = client.statusOf(SaMethod::kSet, record, mask);
  if (status == kSaOk) client.leave(record.mgid, record.joinState);
  return status;
}

/** MTU or rate code of the group so made, or the negative status. */
int createdValue(Client& client, bool mtu, uint8_t selector, uint8_t value) {
  McMemberRecord record = client.creation(group(77));
  uint64_t mask = kMcCreationComponents;
  if (mtu) {
    record.mtuSelector = selector;
    record.mtu = value;
    mask |= maskOf({McComponent::kMtuSelector, McComponent::kMtu});
  } else {
    record.rateSelector = selector;
    record.rate = value;
    mask |= maskOf({McComponent::kRateSelector, McComponent::kRate});
  }
  const auto answer = client.ask(client.request(SaMethod::kSet, record, mask));
  if (!answer || answer->status() != kSaOk) return answer ? -answer->status() : -1;
  const McMemberRecord made = answer->record();
  client.leave(group(77));
  return mtu ? made.mtu : made.rate;
}

}  // namespace

TEST("embedded join: a created group gets the defaults") {
  Bench bench;
  McMemberRecord wanted = bench.a().creation(group(1));
  const auto answer =
      bench.a().ask(bench.a().request(SaMethod::kSet, wanted, kMcCreationComponents));
  CHECK(answer.has_value());
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.method, static_cast<uint8_t>(SaMethod::kGetResp));
  CHECK_EQ(answer->mad.attributeOffset, 7);
  CHECK_EQ(answer->mad.componentMask, kMcCreationComponents);
  CHECK_EQ(answer->sourceLid, 1);
  wanted.mlid = 0xc001;
  wanted.mtuSelector = wanted.rateSelector = wanted.packetLifeTimeSelector = 2;
  wanted.mtu = 4;
  wanted.rate = 3;
  CHECK(answer->record() == wanted);
}

TEST("embedded join: an absent group needs every creation component") {
  Bench bench;
  for (uint64_t component = 1; component != 0; component <<= 1) {
    if ((kMcCreationComponents & component) == 0) continue;
    CHECK_EQ(bench.a().statusOf(SaMethod::kSet, bench.a().creation(group(1)),
                                kMcCreationComponents & ~component),
             kSaInsufficientComponents);
  }
  CHECK_EQ(bench.a().join(group(1)), kSaInsufficientComponents);
  CHECK_EQ(bench.a().join(group(1), kSendOnlyFullMember), kSaInsufficientComponents);
  // The join state is looked at before the creation components.
  CHECK_EQ(bench.a().join(group(1), kSendOnlyNonMember), kSaReqInvalid);
}

TEST("embedded join: only a full or send-only full member creates") {
  Bench bench;
  for (uint8_t state = 0; state < 16; ++state) {
    const bool full = (state & (kFullMember | kSendOnlyFullMember)) != 0;
    CHECK_EQ(tryToCreate(bench.a(), bench.a().creation(group(1), state), kMcCreationComponents),
             full ? kSaOk : kSaReqInvalid);
  }
  CHECK_EQ(bench.fabric.counters().groups, 1u);
}

TEST("embedded join: PortGID must be a port's, of the right prefix") {
  Bench bench;
  McMemberRecord record = bench.a().creation(group(1));
  record.portGid.bytes[15] ^= 0x55;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalid);
  record = bench.a().creation(group(1));
  record.portGid.bytes[1] = 0xc0;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalidGid);
  CHECK_EQ(bench.a().statusOf(SaMethod::kDelete, record, kMembershipMask), kSaReqInvalidGid);
  record.portGid = Gid{};
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalidGid);
  // Too few components are found first.
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, maskOf({McComponent::kMgid})),
           kSaInsufficientComponents);
}

TEST("embedded join: MTU of a new group, by selector") {
  Bench bench;
  const int no = -kSaReqInvalid;
  const int expected[4][8] = {{no, 4, 4, 4, no, no, no, no},
                              {no, no, 1, 2, 3, 4, no, no},
                              {no, 1, 2, 3, 4, no, no, no},
                              {no, 4, 4, 4, 4, 4, no, no}};
  for (uint8_t selector = 0; selector < 4; ++selector) {
    for (uint8_t mtu = 0; mtu < 8; ++mtu) {
      CHECK_EQ(createdValue(bench.a(), true, selector, mtu), expected[selector][mtu]);
    }
  }
}

TEST("embedded join: rate of a new group, by selector, compared in Gb/s") {
  Bench bench;
  const int no = -kSaReqInvalid;
  for (uint8_t rate = 0; rate < 64; ++rate) {
    const bool known = rate >= 2 && rate <= 22;
    CHECK_EQ(createdValue(bench.a(), false, 0, rate), rate == 2 || rate == 5 ? 3 : no);
    // 10 Gb/s is code 3, 5 Gb/s code 5, 2.5 Gb/s code 2.
    CHECK_EQ(createdValue(bench.a(), false, 1, rate), !known || rate == 2 ? no
                                                      : rate == 3         ? 5
                                                      : rate == 5         ? 2
                                                                          : 3);
    CHECK_EQ(createdValue(bench.a(), false, 2, rate),
             rate == 2 || rate == 3 || rate == 5 ? rate : no);
    CHECK_EQ(createdValue(bench.a(), false, 3, rate), known ? 3 : no);
  }
}

TEST("embedded join: a value without its selector is ignored, a selector alone is compared") {
  Bench bench;
  McMemberRecord record = bench.a().creation(group(1));
  record.mtuSelector = 2;
  record.mtu = 1;
  record.rateSelector = 2;
  record.rate = 63;
  CHECK_EQ(tryToCreate(bench.a(), record, with({McComponent::kMtu})), kSaOk);
  CHECK_EQ(tryToCreate(bench.a(), record, with({McComponent::kRate})), kSaOk);
  CHECK_EQ(tryToCreate(bench.a(), record, kMcCreationComponents), kSaOk);
  // The group gets the port's MTU, which then is not what the selector says.
  CHECK_EQ(tryToCreate(bench.a(), record, with({McComponent::kMtuSelector})), kSaReqInvalid);
  record.mtuSelector = 3;
  record.mtu = 0;
  CHECK_EQ(tryToCreate(bench.a(), record, with({McComponent::kMtuSelector})), kSaOk);
  record.mtuSelector = 0;
  record.mtu = 1;
  CHECK_EQ(tryToCreate(bench.a(), record, with({McComponent::kMtuSelector})), kSaOk);
}

TEST("embedded join: lifetime, hop limit and scope are taken as they stand") {
  Bench bench;
  McMemberRecord record = bench.a().creation(group(1));
  record.packetLifeTime = 63;
  record.hopLimit = 7;
  record.scope = 5;
  record.sl = 3;
  record.flowLabel = 0x12345;
  record.trafficClass = 9;
  const auto answer =
      bench.a().ask(bench.a().request(SaMethod::kSet, record, kMcCreationComponents));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->record().packetLifeTime, 63);
  CHECK_EQ(answer->record().packetLifeTimeSelector, 2);
  CHECK_EQ(answer->record().hopLimit, 7);
  CHECK_EQ(answer->record().scope, 5);
  CHECK_EQ(answer->record().sl, 3);
  CHECK_EQ(answer->record().flowLabel, 0x12345u);
  CHECK_EQ(answer->record().trafficClass, 9);
  // Later joiners are told the group's scope, whatever they say.
  McMemberRecord other = bench.b().membership(group(1));
  other.scope = 7;
  const auto joined = bench.b().ask(
      bench.b().request(SaMethod::kSet, other, kMembershipMask | bit(McComponent::kScope)));
  CHECK_EQ(joined->status(), kSaOk);
  CHECK_EQ(joined->record().scope, 5);
}

TEST("embedded join: an existing group is compared field by field") {
  Bench bench;
  McMemberRecord made = bench.a().creation(group(1));
  made.qkey = 0x1111;
  made.sl = 1;
  made.flowLabel = 5;
  made.trafficClass = 3;
  made.hopLimit = 4;
  made.packetLifeTime = 9;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, made, kMcCreationComponents), kSaOk);
  struct Change {
    McComponent component;
    void (*apply)(McMemberRecord&);
    uint16_t status;
  };
  const Change changes[] = {
      {McComponent::kQkey, [](McMemberRecord& r) { r.qkey = 0x2222; }, kSaReqInvalid},
      {McComponent::kTrafficClass, [](McMemberRecord& r) { r.trafficClass = 4; }, kSaReqInvalid},
      {McComponent::kPkey, [](McMemberRecord& r) { r.pkey = 0x7fff; }, kSaOk},
      {McComponent::kPkey, [](McMemberRecord& r) { r.pkey = 0x8001; }, kSaReqInvalid},
      {McComponent::kSl, [](McMemberRecord& r) { r.sl = 2; }, kSaReqInvalid},
      {McComponent::kFlowLabel, [](McMemberRecord& r) { r.flowLabel = 6; }, kSaReqInvalid},
      {McComponent::kHopLimit, [](McMemberRecord& r) { r.hopLimit = 9; }, kSaReqInvalid},
      {McComponent::kScope, [](McMemberRecord& r) { r.scope = 5; }, kSaOk},
      {McComponent::kMlid, [](McMemberRecord& r) { r.mlid = 0xc300; }, kSaOk},
      {McComponent::kPacketLifeTime, [](McMemberRecord& r) { r.packetLifeTime = 3; }, kSaOk},
      {McComponent::kProxyJoin, [](McMemberRecord& r) { r.proxyJoin = true; }, kSaOk},
      {McComponent::kMtu, [](McMemberRecord& r) { r.mtu = 3; }, kSaOk},
      {McComponent::kRate, [](McMemberRecord& r) { r.rate = 2; }, kSaOk},
      {McComponent::kMtuSelector, [](McMemberRecord& r) { r.mtuSelector = 2; }, kSaReqInvalid},
      {McComponent::kMtuSelector, [](McMemberRecord& r) { r.mtuSelector = 0; }, kSaOk},
      {McComponent::kRateSelector, [](McMemberRecord& r) { r.rateSelector = 2; }, kSaReqInvalid},
  };
  for (const Change& change : changes) {
    McMemberRecord wanted = bench.b().membership(group(1));
    change.apply(wanted);
    CHECK_EQ(bench.b().statusOf(SaMethod::kSet, wanted, kMembershipMask | bit(change.component)),
             change.status);
    if (change.status == kSaOk) CHECK_EQ(bench.b().leave(group(1)), kSaOk);
  }
  // A refused join takes nothing away from who is there.
  CHECK_EQ(bench.a().join(group(1), 0), kSaReqInvalid);
  CHECK_EQ(bench.a().findOwn(group(1)), kSaOk);
}

TEST("embedded join: MTU and rate selectors against an existing group") {
  Bench bench;
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  auto status = [&](bool mtu, uint8_t selector, uint8_t value) {
    McMemberRecord wanted = bench.b().membership(group(1));
    (mtu ? wanted.mtuSelector : wanted.rateSelector) = selector;
    (mtu ? wanted.mtu : wanted.rate) = value;
    const uint64_t mask = mtu ? maskOf({McComponent::kMtuSelector, McComponent::kMtu})
                              : maskOf({McComponent::kRateSelector, McComponent::kRate});
    return bench.b().statusOf(SaMethod::kSet, wanted, kMembershipMask | mask);
  };
  for (uint8_t value = 0; value < 64; ++value) {
    const bool mtu = value >= 1 && value <= 5;
    const bool rate = value >= 2 && value <= 22;
    CHECK_EQ(status(true, 0, value), mtu && value < 4 ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(true, 1, value), mtu && value > 4 ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(true, 2, value), value == 4 ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(true, 3, value), mtu ? kSaOk : kSaReqInvalid);
    const bool slower = value == 2 || value == 5;
    CHECK_EQ(status(false, 0, value), slower ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(false, 1, value), rate && !slower && value != 3 ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(false, 2, value), value == 3 ? kSaOk : kSaReqInvalid);
    CHECK_EQ(status(false, 3, value), rate ? kSaOk : kSaReqInvalid);
  }
}

TEST("embedded join: a rate code that OpenSM does not know is slower than any") {
  Bench bench;
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  McMemberRecord wanted = bench.b().membership(group(1));
  wanted.rate = 23;
  const uint64_t mask = kMembershipMask | bit(McComponent::kRateSelector);
  wanted.rateSelector = static_cast<uint8_t>(Selector::kLessThan);
  CHECK_EQ(bench.b().statusOf(SaMethod::kSet, wanted, mask), kSaReqInvalid);
  wanted.rateSelector = static_cast<uint8_t>(Selector::kGreaterThan);
  CHECK_EQ(bench.b().statusOf(SaMethod::kSet, wanted, mask), kSaOk);
}

TEST("embedded join: a port that can't meet the group's MTU or rate is refused") {
  Bench bench;
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  bench.fabric.setPortLimits(1, 3, 3);
  CHECK_EQ(bench.b().join(group(1)), kSaReqInvalid);
  bench.fabric.setPortLimits(1, 4, 5);
  CHECK_EQ(bench.b().join(group(1)), kSaReqInvalid);
  // 20 Gb/s, though its code is not far from that of 5 Gb/s.
  bench.fabric.setPortLimits(1, 5, 6);
  CHECK_EQ(bench.b().join(group(1)), kSaOk);
}

TEST("embedded join: join states accumulate") {
  Bench bench;
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  CHECK_EQ(bench.b().join(group(1)), kSaOk);
  const auto answer = bench.b().ask(
      bench.b().request(SaMethod::kSet, bench.b().membership(group(1), 4), kMembershipMask));
  CHECK_EQ(answer->record().joinState, 5);
  CHECK_EQ(bench.fabric.members().size(), 2u);
  CHECK_EQ(bench.fabric.members()[1].joinState, 5);
}

TEST("embedded join: MGID 0 asks for an MGID") {
  Bench bench;
  auto assigned = [&](uint64_t mask, uint8_t scope) {
    McMemberRecord record = bench.a().creation(Gid{});
    record.scope = scope;
    const auto answer = bench.a().ask(bench.a().request(SaMethod::kSet, record, mask));
    CHECK_EQ(answer->status(), kSaOk);
    CHECK_EQ(answer->record().scope, scope);
    return answer->record().mgid;
  };
  const uint64_t scoped = with({McComponent::kScope});
  CHECK(assigned(kMcCreationComponents, 0) ==
        gid({0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(assigned(kMcCreationComponents, 5) ==
        gid({0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}));
  CHECK(assigned(scoped, 0xe) ==
        gid({0xff, 0x1e, 0xa0, 0x1b, 0xfe, 0x80, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}));
  CHECK(assigned(scoped, 0) ==
        gid({0xff, 0x10, 0xa0, 0x1b, 0xfe, 0x80, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0}));
  CHECK_EQ(bench.fabric.counters().groups, 5u);
  CHECK_EQ(bench.a().join(Gid{}), kSaInsufficientComponents);
  CHECK_EQ(bench.a().find(Gid{}), kSaNoRecords);
  CHECK_EQ(bench.a().leave(Gid{}), kSaReqInvalid);
}

TEST("embedded join: which MGIDs may be asked for") {
  Bench bench;
  auto status = [&](std::initializer_list<int> head) {
    Gid mgid = gid(head);
    mgid.bytes[14] = 0xab;
    return tryToCreate(bench.a(), bench.a().creation(mgid), kMcCreationComponents);
  };
  CHECK_EQ(status({0xfe, 0x80}), kSaReqInvalid);
  CHECK_EQ(status({0xfe, 0x12, 0x40, 0x1b, 0xff, 0xff}), kSaReqInvalid);
  for (int scope = 0; scope < 16; ++scope) {
    CHECK_EQ(status({0xff, scope}), kSaOk);
    CHECK_EQ(status({0xff, 0x10 | scope}), kSaOk);
  }
  for (int flags = 2; flags < 16; ++flags) CHECK_EQ(status({0xff, flags << 4 | 2}), kSaReqInvalid);
  CHECK_EQ(status({0xff, 0x12, 0xa0, 0x1b}), kSaReqInvalid);
  CHECK_EQ(status({0xff, 0x02, 0xa0, 0x1b}), kSaReqInvalid);
  CHECK_EQ(status({0xff, 0x15, 0xa0, 0x1b}), kSaOk);
  // IPoIB MGIDs are judged by the broadcast group of their scope and P_Key alone.
  CHECK_EQ(status({0xff, 0x12, 0x40, 0x1b, 0xff, 0xff}), kSaOk);
  CHECK_EQ(status({0xff, 0x12, 0x60, 0x1b, 0xff, 0xff}), kSaOk);
  CHECK_EQ(status({0xff, 0xf2, 0x40, 0x1b, 0xff, 0xff}), kSaOk);
  CHECK_EQ(status({0xff, 0x02, 0x40, 0x1b, 0xff, 0xff}), kSaOk);
  CHECK_EQ(status({0xff, 0x15, 0x40, 0x1b, 0xff, 0xff}), kSaReqInvalid);
  CHECK_EQ(status({0xff, 0x12, 0x40, 0x1b, 0x7f, 0xff}), kSaReqInvalid);
  CHECK_EQ(status({0xff, 0x12, 0x60, 0x1b, 0x80, 0x01}), kSaReqInvalid);
}

TEST("embedded join: an IPoIB group takes after its broadcast group") {
  Bench bench;
  const Gid mgid = gid({0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0xcd});
  auto status = [&](McComponent component, void (*apply)(McMemberRecord&)) {
    McMemberRecord record = bench.a().creation(mgid);
    apply(record);
    return tryToCreate(bench.a(), record, with({component}));
  };
  CHECK_EQ(status(McComponent::kQkey, [](McMemberRecord& r) { r.qkey = 5; }), kSaReqInvalid);
  CHECK_EQ(status(McComponent::kSl, [](McMemberRecord& r) { r.sl = 3; }), kSaReqInvalid);
  CHECK_EQ(status(McComponent::kTrafficClass, [](McMemberRecord& r) { r.trafficClass = 1; }),
           kSaReqInvalid);
  CHECK_EQ(status(McComponent::kFlowLabel, [](McMemberRecord& r) { r.flowLabel = 1; }),
           kSaReqInvalid);
  CHECK_EQ(status(McComponent::kHopLimit, [](McMemberRecord& r) { r.hopLimit = 3; }),
           kSaReqInvalid);
  CHECK_EQ(status(McComponent::kQkey, [](McMemberRecord& r) { r.hopLimit = 3; }), kSaOk);
  CHECK_EQ(status(McComponent::kPkey, [](McMemberRecord& r) { r.pkey = 0x7fff; }), kSaOk);
  McMemberRecord record = bench.a().creation(mgid);
  record.mtuSelector = record.rateSelector = 2;
  record.mtu = record.rate = 2;
  CHECK_EQ(tryToCreate(bench.a(), record,
                       with({McComponent::kMtuSelector, McComponent::kMtu,
                             McComponent::kRateSelector, McComponent::kRate})),
           kSaOk);
}

TEST("embedded join: the broadcast group is there before anyone joins and outlives all") {
  Bench bench;
  const Gid mgid =
      gid({0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff});
  const auto answer =
      bench.a().ask(bench.a().request(SaMethod::kSet, bench.a().membership(mgid), kMembershipMask));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->record().mlid, 0xc000);
  CHECK_EQ(answer->record().qkey, 0xb1bu);
  CHECK_EQ(answer->record().mtu, 4);
  CHECK_EQ(answer->record().rate, 3);
  CHECK_EQ(answer->record().packetLifeTime, 18);
  CHECK_EQ(answer->record().scope, 2);
  CHECK_EQ(bench.b().join(mgid, kSendOnlyNonMember), kSaOk);
  CHECK_EQ(bench.a().leave(mgid), kSaOk);
  CHECK_EQ(bench.a().leave(mgid), kSaReqInvalid);
  CHECK_EQ(bench.b().leave(mgid, kSendOnlyNonMember), kSaReqInvalid);
  CHECK_EQ(bench.a().find(mgid), kSaOk);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  FabricOptions options;
  options.broadcastGroup = false;
  Bench bare(options);
  CHECK_EQ(bare.a().find(mgid), kSaNoRecords);
  CHECK_EQ(bare.a().create(mgid), kSaOk);
}

TEST("embedded join: partitions") {
  FabricOptions options;
  options.ports = 3;
  Bench bench(options);
  bench.fabric.setPkeys(0, {0xffff, 0x8002});
  bench.fabric.setPkeys(1, {0xffff, 0x0002});
  for (uint16_t pkey : {0x8002, 0x0002}) {
    McMemberRecord record = bench.a().creation(group(pkey));
    record.pkey = pkey;
    CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaOk);
    CHECK_EQ(bench.b().join(group(pkey)), kSaOk);
    CHECK_EQ(bench.b().find(group(pkey)), kSaOk);
    CHECK_EQ(bench.c().join(group(pkey)), kSaReqInvalid);
    CHECK_EQ(bench.c().find(group(pkey)), kSaNoRecords);
  }
  for (uint16_t pkey : {0x8003, 0x0000, 0x8000}) {
    McMemberRecord record = bench.a().creation(group(9));
    record.pkey = pkey;
    CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalid);
    CHECK_EQ(bench.a().join(group(9)), kSaInsufficientComponents);
  }
}

TEST("embedded join: two limited P_Keys of one partition do not match") {
  Bench bench;
  McMemberRecord record = bench.a().creation(group(1));
  record.pkey = 0x7fff;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaOk);
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalid);
  CHECK_EQ(bench.a().join(group(1)), kSaOk);
  record.pkey = 0xffff;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaOk);
}

TEST("embedded join: MLIDs are given lowest first, reused at once, and run out") {
  FabricOptions options;
  options.mlidPool = 4;
  Bench bench(options);
  auto mlid = [&](uint32_t n, uint16_t wanted = 0) {
    McMemberRecord record = bench.a().creation(group(n));
    record.mlid = wanted;
    const auto answer =
        bench.a().ask(bench.a().request(SaMethod::kSet, record, kMcCreationComponents));
    return answer->status() == kSaOk ? answer->record().mlid : answer->status();
  };
  CHECK_EQ(mlid(1), 0xc001);
  CHECK_EQ(mlid(2, 0xc003), 0xc003);
  CHECK_EQ(mlid(3, 0xc003), 0xc002);
  CHECK_EQ(mlid(4), kSaNoResources);
  CHECK_EQ(bench.fabric.counters().freeMlids, 0u);
  // What exists can still be joined, and what is wrong is still wrong.
  CHECK_EQ(bench.b().join(group(3)), kSaOk);
  CHECK_EQ(
      bench.a().statusOf(SaMethod::kSet, bench.a().creation(gid({0xfe, 1})), kMcCreationComponents),
      kSaReqInvalid);
  CHECK_EQ(bench.a().leave(group(1)), kSaOk);
  CHECK_EQ(mlid(5, 0xc004), 0xc001);
}

TEST("embedded join: 1023 groups by default") {
  Bench bench;
  for (uint32_t n = 0; n < 1023; ++n) CHECK_EQ(bench.a().create(group(n)), kSaOk);
  CHECK_EQ(bench.a().create(group(1023)), kSaNoResources);
}

TEST("embedded join: on behalf of another port") {
  FabricOptions options;
  options.ports = 3;
  Bench bench(options);
  McMemberRecord forB = bench.a().creation(group(1));
  forB.portGid = bench.b().port().gid;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, forB, kMcCreationComponents), kSaOk);
  CHECK_EQ(bench.b().findOwn(group(1)), kSaOk);
  // What was joined by proxy, anyone in the partition may change; else only the port itself.
  forB.joinState = kNonMember;
  CHECK_EQ(bench.c().statusOf(SaMethod::kSet, forB, kMembershipMask), kSaOk);
  CHECK_EQ(bench.c().statusOf(SaMethod::kDelete, forB, kMembershipMask), kSaOk);
  CHECK_EQ(bench.a().create(group(2)), kSaOk);
  McMemberRecord forA = bench.a().membership(group(2), kNonMember);
  CHECK_EQ(bench.c().statusOf(SaMethod::kSet, forA, kMembershipMask), kSaReqInvalid);
  forA.joinState = kFullMember;
  CHECK_EQ(bench.c().statusOf(SaMethod::kDelete, forA, kMembershipMask), kSaReqInvalid);
}
