// Deletes and queries, as OpenSM answers them (docs/opensm-behaviour.md).
#include "bench_fabric.h"
#include "check.h"

using namespace rxib;
using namespace rxib::codec;
using namespace rxib::embedded::test;
using rxib::embedded::FabricOptions;

namespace {

SaMad trusted(SaMad mad) {
  mad.smKey = kTrusted;
  return mad;
}

/** The port's join state at the SM; 0 for none. */
int joinStateOf(Bench& bench, int port, const Gid& mgid) {
  for (const auto& member : bench.fabric.members()) {
    if (member.mgid == mgid &&
        member.portGid == bench.clients[static_cast<size_t>(port)]->port().gid) {
      return member.joinState;
    }
  }
  return 0;
}

}  // namespace

TEST("embedded leave: part of the bits, then the rest") {
  Bench bench;
  bench.a().create(group(1));
  bench.b().join(group(1), 5);
  McMemberRecord record = bench.b().membership(group(1), 1);
  record.qkey = 7;
  record.mtu = 3;
  record.mtuSelector = 1;
  record.scope = 4;
  const auto answer = bench.b().ask(bench.b().request(SaMethod::kDelete, record, kMembershipMask));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.method, static_cast<uint8_t>(SaMethod::kDeleteResp));
  // The answer repeats the request, but for selectors, scope and the bits that are left.
  record.mtuSelector = record.rateSelector = record.packetLifeTimeSelector = 2;
  record.scope = 0;
  record.joinState = 4;
  CHECK(answer->record() == record);
  CHECK_EQ(joinStateOf(bench, 1, group(1)), 4);
  CHECK_EQ(bench.b().leave(group(1), 4), kSaOk);
  CHECK_EQ(bench.b().findOwn(group(1)), kSaNoRecords);
  CHECK_EQ(bench.a().findOwn(group(1)), kSaOk);
}

TEST("embedded leave: what is refused") {
  Bench bench;
  bench.a().create(group(1));
  bench.b().join(group(1), 5);
  CHECK_EQ(bench.b().leave(group(1), 2), kSaReqInvalid);
  CHECK_EQ(bench.b().leave(group(1), 3), kSaReqInvalid);
  CHECK_EQ(bench.b().leave(group(1), 0), kSaReqInvalid);
  CHECK_EQ(bench.b().leave(group(9)), kSaReqInvalid);
  const McMemberRecord record = bench.b().membership(group(1));
  for (McComponent missing : {McComponent::kMgid, McComponent::kPortGid, McComponent::kJoinState}) {
    CHECK_EQ(bench.b().statusOf(SaMethod::kDelete, record, kMembershipMask & ~bit(missing)),
             kSaInsufficientComponents);
  }
  CHECK_EQ(bench.a().statusOf(SaMethod::kDelete, record, kMembershipMask), kSaReqInvalid);
  McMemberRecord badRate = record;
  badRate.rateSelector = 2;
  badRate.rate = 1;
  CHECK_EQ(bench.b().statusOf(
               SaMethod::kDelete, badRate,
               kMembershipMask | maskOf({McComponent::kRate, McComponent::kRateSelector})),
           kSaReqInvalid);
  CHECK_EQ(joinStateOf(bench, 1, group(1)), 5);
  bench.a().leave(group(1));
  CHECK_EQ(bench.a().leave(group(1)), kSaReqInvalid);
}

TEST("embedded leave: the group dies with its last full member, whoever else is there") {
  Bench bench;
  bench.a().create(group(1));
  bench.b().join(group(1), kSendOnlyNonMember);
  CHECK_EQ(bench.a().leave(group(1)), kSaOk);
  CHECK_EQ(bench.a().find(group(1)), kSaNoRecords);
  CHECK_EQ(bench.b().leave(group(1), kSendOnlyNonMember), kSaReqInvalid);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.fabric.counters().freeMlids, 1023u);
}

TEST("embedded leave: a send-only full member keeps the group alive") {
  Bench bench;
  bench.a().create(group(1));
  bench.b().join(group(1), kSendOnlyFullMember);
  CHECK_EQ(bench.a().leave(group(1)), kSaOk);
  CHECK_EQ(bench.b().findOwn(group(1)), kSaOk);
  CHECK_EQ(bench.b().leave(group(1), kSendOnlyFullMember), kSaOk);
  CHECK_EQ(bench.a().find(group(1)), kSaNoRecords);
}

TEST("embedded leave: the last plain full bit takes all of the port's bits along") {
  Bench bench;
  bench.a().create(group(1), kFullMember | kNonMember);
  const auto answer = bench.a().ask(
      bench.a().request(SaMethod::kDelete, bench.a().membership(group(1)), kMembershipMask));
  CHECK_EQ(answer->record().joinState, 0);
  CHECK_EQ(bench.a().find(group(1)), kSaNoRecords);
}

TEST("embedded leave: OpenSM's miscount pins a group whose port held both full bits") {
  Bench bench;
  bench.a().create(group(1), 9);
  CHECK_EQ(bench.a().leave(group(1), 1), kSaOk);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.a().leave(group(1), 8), kSaReqInvalid);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  // It can be joined without creation fields, and still does not go.
  CHECK_EQ(bench.b().join(group(1)), kSaOk);
  CHECK_EQ(bench.b().leave(group(1)), kSaOk);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  CHECK_EQ(bench.fabric.counters().freeMlids, 1022u);
  bench.fabric.restartSm();
  CHECK_EQ(bench.fabric.counters().freeMlids, 1023u);
}

TEST("embedded leave: both full bits in other orders leave nothing behind") {
  // Steps of (port, join or leave, bits), and whether the group still exists after them.
  struct Step {
    int port;
    bool join;
    uint8_t bits;
    int heldAfter;
  };
  struct Sequence {
    std::vector<Step> steps;
    bool exists;
  };
  const Sequence sequences[] = {
      {{{0, true, 9, 9}, {0, false, 8, 1}, {0, false, 1, 0}}, false},
      {{{0, true, 9, 9}, {0, false, 9, 0}}, false},
      {{{0, true, 9, 9}, {0, true, 9, 9}, {0, false, 9, 0}}, false},
      {{{0, true, 8, 8}, {0, true, 9, 9}, {0, false, 8, 1}}, true},
      {{{0, true, 10, 10}, {0, false, 8, 0}}, false},
      {{{0, true, 11, 11}, {0, false, 1, 0}}, true},
      {{{0, true, 13, 13}, {0, false, 5, 0}}, true},
      {{{0, true, 15, 15}, {0, false, 4, 11}, {0, false, 2, 9}, {0, false, 8, 1}, {0, false, 1, 0}},
       false},
      {{{0, true, 9, 9}, {1, true, 1, 1}, {0, false, 1, 8}, {1, false, 1, 0}}, true},
      {{{0, true, 1, 1},
        {1, true, 1, 1},
        {0, true, 8, 9},
        {0, false, 1, 8},
        {0, false, 8, 0},
        {1, false, 1, 0}},
       false},
      {{{0, true, 9, 9}, {1, true, 8, 8}, {0, false, 1, 8}, {1, false, 8, 0}}, true},
      {{{0, true, 3, 3}, {1, true, 1, 1}, {0, false, 1, 2}, {0, false, 2, 0}, {1, false, 1, 0}},
       false},
  };
  uint32_t n = 0;
  for (const Sequence& sequence : sequences) {
    Bench bench;
    const Gid mgid = group(++n);
    for (const Step& step : sequence.steps) {
      Client& client = *bench.clients[static_cast<size_t>(step.port)];
      CHECK_EQ(step.join ? client.create(mgid, step.bits) : client.leave(mgid, step.bits), kSaOk);
      CHECK_EQ(joinStateOf(bench, step.port, mgid), step.heldAfter);
    }
    CHECK_EQ(bench.a().find(mgid) == kSaOk, sequence.exists);
  }
}

TEST("embedded query: who is a member is hidden without the key") {
  Bench bench;
  bench.a().create(group(1));
  const McMemberRecord record = bench.a().membership(group(1));
  const uint64_t mask = maskOf({McComponent::kMgid, McComponent::kPortGid});
  auto answer = bench.a().ask(bench.a().request(SaMethod::kGet, record, mask));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->record().mlid, 0xc001);
  CHECK(answer->record().portGid.isZero());
  CHECK_EQ(answer->record().joinState, 0);
  answer = bench.a().ask(trusted(bench.a().request(SaMethod::kGet, record, mask)));
  CHECK(answer->record().portGid == bench.a().port().gid);
  CHECK_EQ(answer->record().joinState, 1);
  // The key is not repeated in the answer; a wrong one gets none.
  CHECK_EQ(answer->mad.smKey, 0u);
  SaMad wrong = bench.a().request(SaMethod::kGet, record, mask);
  wrong.smKey = 2;
  CHECK(!bench.a().ask(wrong).has_value());
  CHECK_EQ(bench.fabric.counters().requestsRefused, 1u);
  CHECK_EQ(bench.fabric.counters().outstanding, 0u);
}

TEST("embedded query: the PortGID's prefix does not count, its GUID does") {
  Bench bench;
  bench.a().create(group(1));
  McMemberRecord record = bench.a().membership(group(1));
  record.portGid.bytes[1] = 0xc0;
  const uint64_t mask = maskOf({McComponent::kMgid, McComponent::kPortGid});
  CHECK_EQ(bench.a().statusOf(SaMethod::kGet, record, mask), kSaOk);
  record.portGid = Gid{};
  CHECK_EQ(bench.a().statusOf(SaMethod::kGet, record, mask), kSaNoRecords);
  CHECK_EQ(bench.b().findOwn(group(1)), kSaNoRecords);
}

TEST("embedded query: a join state in the mask must be the very same") {
  Bench bench;
  bench.a().create(group(1));
  bench.b().join(group(1), 5);
  for (uint8_t state = 0; state < 16; ++state) {
    CHECK_EQ(
        bench.b().statusOf(SaMethod::kGet, bench.b().membership(group(1), state), kMembershipMask),
        state == 5 ? kSaOk : kSaNoRecords);
    // Without PortGID it is the state the group was created with.
    CHECK_EQ(bench.b().statusOf(SaMethod::kGet, bench.b().membership(group(1), state),
                                maskOf({McComponent::kMgid, McComponent::kJoinState})),
             state == 1 ? kSaOk : kSaNoRecords);
  }
}

TEST("embedded query: by other fields") {
  Bench bench;
  McMemberRecord made = bench.a().creation(group(1));
  made.qkey = 0x1111;
  made.sl = 1;
  made.hopLimit = 4;
  made.scope = 2;
  bench.a().statusOf(SaMethod::kSet, made, kMcCreationComponents);
  auto status = [&](McComponent component, void (*apply)(McMemberRecord&)) {
    McMemberRecord record = bench.a().membership(group(1));
    apply(record);
    return bench.a().statusOf(SaMethod::kGet, record, maskOf({McComponent::kMgid, component}));
  };
  CHECK_EQ(status(McComponent::kQkey, [](McMemberRecord& r) { r.qkey = 0x1111; }), kSaOk);
  CHECK_EQ(status(McComponent::kQkey, [](McMemberRecord& r) { r.qkey = 1; }), kSaNoRecords);
  CHECK_EQ(status(McComponent::kSl, [](McMemberRecord& r) { r.sl = 2; }), kSaNoRecords);
  CHECK_EQ(status(McComponent::kHopLimit, [](McMemberRecord& r) { r.hopLimit = 4; }), kSaOk);
  CHECK_EQ(status(McComponent::kPkey, [](McMemberRecord& r) { r.pkey = 0x7fff; }), kSaOk);
  CHECK_EQ(status(McComponent::kScope, [](McMemberRecord& r) { r.scope = 2; }), kSaOk);
  CHECK_EQ(status(McComponent::kScope, [](McMemberRecord& r) { r.scope = 3; }), kSaNoRecords);
  CHECK_EQ(status(McComponent::kMlid, [](McMemberRecord& r) { r.mlid = 0xc001; }), kSaOk);
  CHECK_EQ(status(McComponent::kMlid, [](McMemberRecord& r) { r.mlid = 0xc000; }), kSaNoRecords);
  CHECK_EQ(status(McComponent::kPacketLifeTime, [](McMemberRecord& r) { r.packetLifeTime = 3; }),
           kSaOk);
  CHECK_EQ(status(McComponent::kProxyJoin, [](McMemberRecord& r) { r.proxyJoin = true; }), kSaOk);
  CHECK_EQ(status(McComponent::kMtuSelector,
                  [](McMemberRecord& r) {
                    r.mtuSelector = 2;
                    r.mtu = 3;
                  }),
           kSaNoRecords);
}

TEST("embedded query: several records") {
  FabricOptions options;
  options.ports = 4;
  Bench bench(options);
  bench.a().create(group(1));
  bench.b().join(group(1));
  const uint64_t byGroup = bit(McComponent::kMgid);
  const McMemberRecord record = bench.a().membership(group(1));
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  CHECK_EQ(bench.a().ask(trusted(bench.a().request(SaMethod::kGet, record, byGroup)))->status(),
           kSaTooManyRecords);
  auto answer = bench.a().ask(trusted(bench.a().request(SaMethod::kGetTable, record, byGroup)));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.method, static_cast<uint8_t>(SaMethod::kGetTableResp));
  CHECK_EQ(answer->mad.rmppFlags, 1);
  CHECK_EQ(answer->mad.attributeOffset, 7);
  CHECK(answer->record(0).portGid == bench.a().port().gid);
  CHECK(answer->record(1).portGid == bench.b().port().gid);
  CHECK(answer->record(2).mgid.isZero());
  CHECK_EQ(answer->bytes.size(), kSaHeaderSize + 2 * 56);
  bench.c().join(group(1));
  bench.clients[3]->join(group(1));
  answer = bench.a().ask(trusted(bench.a().request(SaMethod::kGetTable, record, byGroup)));
  CHECK(answer->record(2).portGid == bench.c().port().gid);
  CHECK_EQ(answer->bytes.size(), kSaHeaderSize + 4 * 56);
  // Without a mask: all groups, one record each.
  answer = bench.a().ask(bench.a().request(SaMethod::kGetTable, {}, 0));
  CHECK_EQ(answer->record(0).mlid, 0xc000);
  CHECK_EQ(answer->record(1).mlid, 0xc001);
  CHECK(answer->record(2).mgid.isZero());
  CHECK_EQ(bench.a().ask(bench.a().request(SaMethod::kGet, {}, 0))->status(), kSaTooManyRecords);
  // Nothing found is no error for a table.
  answer = bench.a().ask(
      bench.a().request(SaMethod::kGetTable, bench.a().membership(group(9)), byGroup));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.attributeOffset, 0);
  CHECK(answer->record().mgid.isZero());
}

TEST("embedded query: a table and the broadcast group without members, for the trusted") {
  Bench bench;
  McMemberRecord record;
  record.mgid = bench.fabric.groups()[0];
  CHECK_EQ(bench.a().ask(trusted(bench.a().request(SaMethod::kGet, record, 1)))->status(),
           kSaNoRecords);
  CHECK_EQ(bench.a().find(record.mgid), kSaOk);
}

TEST("embedded query: units that do not exist are refused, not searched for") {
  Bench bench;
  McMemberRecord record;
  record.rate = 23;
  record.rateSelector = 3;
  const uint64_t both = maskOf({McComponent::kRate, McComponent::kRateSelector});
  CHECK_EQ(bench.a().statusOf(SaMethod::kGet, record, both), kSaReqInvalid);
  record.rate = 22;
  CHECK_EQ(bench.a().statusOf(SaMethod::kGet, record, both), kSaOk);
}

TEST("embedded answer: ClassPortInfo") {
  Bench bench;
  SaMad request = bench.a().request(SaMethod::kGet, {}, 0);
  request.attributeId = static_cast<uint16_t>(SaAttribute::kClassPortInfo);
  auto answer = bench.a().ask(request);
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.data[0], 1);
  CHECK_EQ(answer->mad.data[1], 2);
  CHECK_EQ(answer->mad.data[7] & 0x1f, 16);
  request.method = static_cast<uint8_t>(SaMethod::kGetTable);
  CHECK_EQ(bench.a().ask(request)->status(), kSaReqInvalid);
  request.method = static_cast<uint8_t>(SaMethod::kSet);
  CHECK(!bench.a().ask(request).has_value());
}

TEST("embedded answer: attributes and methods that are not served") {
  Bench bench;
  SaMad request = bench.a().request(SaMethod::kGet, {}, 0);
  for (uint16_t attribute : {0x11, 0x12, 0x30, 0x33, 0x36}) {
    request.attributeId = attribute;
    CHECK_EQ(bench.a().ask(request)->status(), kSaMethodAttributeUnsupported);
  }
  // What OpenSM does not know, it leaves without an answer.
  for (uint16_t attribute : {0x02, 0x10, 0x16, 0x39, 0xffff}) {
    request.attributeId = attribute;
    CHECK(!bench.a().ask(request).has_value());
  }
  request = bench.a().request(SaMethod::kGet, {}, 0);
  for (int method = 0; method < 256; ++method) {
    request.method = static_cast<uint8_t>(method);
    const auto answer = bench.a().ask(request);
    const bool served = method == 0x01 || method == 0x02 || method == 0x12 || method == 0x15;
    CHECK_EQ(answer.has_value(), served || method == 0x14);
    if (method == 0x14) CHECK_EQ(answer->status(), kSaMethodAttributeUnsupported);
  }
}

TEST("embedded answer: other classes and versions get none") {
  Bench bench;
  const SaMad good = bench.a().request(SaMethod::kGet, {}, 0);
  CHECK(bench.a().ask(good).has_value());
  SaMad bad = good;
  bad.baseVersion = 2;
  CHECK(!bench.a().ask(bad).has_value());
  bad = good;
  bad.classVersion = 3;
  CHECK(!bench.a().ask(bad).has_value());
  bad = good;
  bad.managementClass = 4;
  CHECK(!bench.a().ask(bad).has_value());
  SaMad old = good;
  old.classVersion = 1;
  CHECK(bench.a().ask(old).has_value());
}

TEST("embedded answer: a refusal repeats the request") {
  Bench bench;
  SaMad request = bench.a().request(SaMethod::kDelete, bench.a().membership(group(1)), 0x3ffff);
  request.attributeModifier = 7;
  request.transactionId = 0x1234567800000000ull | 0xabcdef01;
  const auto answer = bench.a().ask(request);
  CHECK_EQ(answer->status(), kSaReqInvalid);
  CHECK_EQ(answer->mad.componentMask, 0x3ffffu);
  CHECK_EQ(answer->mad.attributeModifier, 7u);
  CHECK_EQ(answer->mad.attributeOffset, 0);
  CHECK(answer->mad.data == request.data);
  // The low half is the client's own, the high half the transport's.
  CHECK_EQ(static_cast<uint32_t>(answer->mad.transactionId), 0xabcdef01u);
}
