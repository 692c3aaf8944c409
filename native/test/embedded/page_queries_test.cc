// Path records, service records and subscriptions, as OpenSM answers them.
#include "check.h"
#include "codec/inform_info.h"
#include "codec/path_record.h"
#include "codec/service_record.h"
#include "embedded/bench_fabric.h"

namespace {

using namespace rxib;
using namespace rxib::codec;
using namespace rxib::embedded::test;
using rxib::embedded::FabricOptions;

SaMad ask(Client& client, SaMethod method, SaAttribute attribute, uint64_t mask) {
  SaMad mad = client.request(method, {}, mask);
  mad.attributeId = static_cast<uint16_t>(attribute);
  return mad;
}

constexpr uint64_t kPair = bit(PathComponent::kSgid) | bit(PathComponent::kDgid);

SaMad pathRequest(Bench& bench, SaMethod method, uint64_t mask, PathRecord wanted = {}) {
  SaMad mad = ask(bench.a(), method, SaAttribute::kPathRecord, mask);
  if (wanted.sgid.isZero()) wanted.sgid = bench.a().port().gid;
  if (wanted.dgid.isZero()) wanted.dgid = bench.b().port().gid;
  packPathRecord(wanted, mad.data.data());
  return mad;
}

PathRecord pathOf(const Answer& answer, size_t index = 0) {
  PathRecord path;
  const uint8_t* at = answer.bytes.data() + kSaHeaderSize + index * kPathRecordSize;
  CHECK(unpackPathRecord(at, answer.bytes.size() - kSaHeaderSize - index * kPathRecordSize, path));
  return path;
}

TEST("embedded path: between two ports") {
  Bench bench;
  const auto answer = bench.a().ask(pathRequest(bench, SaMethod::kGet, kPair));
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.attributeOffset, 8);
  PathRecord expected;
  expected.sgid = bench.a().port().gid;
  expected.dgid = bench.b().port().gid;
  expected.slid = bench.a().port().lid;
  expected.dlid = bench.b().port().lid;
  expected.reversible = true;
  expected.pkey = 0xffff;
  expected.mtuSelector = expected.rateSelector = expected.packetLifeTimeSelector = 2;
  expected.mtu = 4;
  expected.rate = 3;
  expected.packetLifeTime = 18;
  CHECK(pathOf(*answer) == expected);
}

TEST("embedded path: a table of all from one port, and a Get of several gets the first") {
  FabricOptions options;
  options.ports = 5;
  Bench bench(options);
  const auto table =
      bench.a().ask(pathRequest(bench, SaMethod::kGetTable, bit(PathComponent::kSgid)));
  CHECK_EQ(table->bytes.size(), kSaHeaderSize + 5 * kPathRecordSize);
  CHECK_EQ(pathOf(*table, 0).packetLifeTime, 0);  // to itself
  CHECK_EQ(pathOf(*table, 4).dlid, bench.clients[4]->port().lid);
  const auto first = bench.a().ask(pathRequest(bench, SaMethod::kGet, bit(PathComponent::kSgid)));
  CHECK(pathOf(*first) == pathOf(*table, 0));
}

TEST("embedded path: without RMPP one MAD goes out with what fits") {
  FabricOptions options;
  options.ports = 5;
  options.rmpp = false;
  Bench bench(options);
  const auto table =
      bench.a().ask(pathRequest(bench, SaMethod::kGetTable, bit(PathComponent::kSgid)));
  CHECK_EQ(table->bytes.size(), kMadSize);
}

TEST("embedded path: what is not there, and what contradicts itself") {
  Bench bench;
  PathRecord wanted;
  wanted.dgid = group(1);
  CHECK_EQ(bench.a().ask(pathRequest(bench, SaMethod::kGet, kPair, wanted))->status(),
           kSaNoRecords);
  const auto empty = bench.a().ask(pathRequest(bench, SaMethod::kGetTable, kPair, wanted));
  CHECK_EQ(empty->status(), kSaOk);
  CHECK_EQ(empty->bytes.size(), kSaHeaderSize);
  wanted = {};
  wanted.dlid = bench.a().port().lid;
  CHECK_EQ(bench.a()
               .ask(pathRequest(bench, SaMethod::kGet, kPair | bit(PathComponent::kDlid), wanted))
               ->status(),
           kSaReqInvalid);
  wanted.dlid = 99;  // nobody's
  CHECK_EQ(bench.a()
               .ask(pathRequest(bench, SaMethod::kGet,
                                bit(PathComponent::kSgid) | bit(PathComponent::kDlid), wanted))
               ->status(),
           kSaNoRecords);
  CHECK(!bench.a().ask(pathRequest(bench, SaMethod::kSet, kPair)).has_value());
  CHECK(!bench.a().ask(pathRequest(bench, SaMethod::kDelete, kPair)).has_value());
}

TEST("embedded path: MTU, rate and lifetime by selector") {
  Bench bench;
  struct Case {
    uint8_t selector;
    uint8_t asked;
    int expected;  // or minus the status
  };
  auto run = [&](PathComponent selector, PathComponent value, uint8_t PathRecord::* selectorField,
                 uint8_t PathRecord::* valueField, std::initializer_list<Case> cases) {
    for (const Case& one : cases) {
      PathRecord wanted;
      wanted.*selectorField = one.selector;
      wanted.*valueField = one.asked;
      const auto answer = bench.a().ask(
          pathRequest(bench, SaMethod::kGet, kPair | bit(selector) | bit(value), wanted));
      const int got =
          answer->status() != kSaOk ? -int{answer->status()} : int{pathOf(*answer).*valueField};
      CHECK_EQ(got, one.expected);
    }
  };
  constexpr int kNone = -int{kSaNoRecords};
  constexpr int kInvalid = -int{kSaReqInvalid};
  run(PathComponent::kMtuSelector, PathComponent::kMtu, &PathRecord::mtuSelector, &PathRecord::mtu,
      {{0, 0, kInvalid},
       {0, 3, 4},
       {0, 4, kNone},
       {0, 6, kInvalid},
       {1, 1, kNone},
       {1, 2, 1},
       {1, 5, 4},
       {2, 1, 1},
       {2, 4, 4},
       {2, 5, kNone},
       {3, 1, 4},
       {3, 63, kInvalid}});
  run(PathComponent::kRateSelector, PathComponent::kRate, &PathRecord::rateSelector,
      &PathRecord::rate,
      {{0, 0, kInvalid},
       {0, 2, 3},
       {0, 3, kNone},
       {1, 2, kNone},
       {1, 3, 5},
       {1, 5, 2},
       {1, 4, 3},
       {2, 2, kNone},
       {2, 3, 3},
       {2, 5, kNone},
       {3, 22, 3},
       {3, 23, kInvalid}});
  run(PathComponent::kPacketLifeTimeSelector, PathComponent::kPacketLifeTime,
      &PathRecord::packetLifeTimeSelector, &PathRecord::packetLifeTime,
      {{0, 17, 18},
       {0, 18, kNone},
       {1, 0, kNone},
       {1, 17, 16},
       {1, 18, 17},
       {1, 63, 18},
       {2, 0, 0},
       {2, 17, 17},
       {2, 19, kNone},
       {3, 63, 18}});
}

ServiceRecord service(Client& client, uint64_t id, uint32_t lease = 100) {
  ServiceRecord record;
  record.serviceId = id;
  record.serviceGid = client.port().gid;
  record.pkey = 0xffff;
  record.leaseSeconds = lease;
  record.name[0] = 'n';
  record.key[0] = 'k';
  record.data8[15] = 7;
  return record;
}

constexpr uint64_t kServiceAll = 0x1ffffffff7;
constexpr uint64_t kById = bit(ServiceComponent::kServiceId);

std::optional<Answer> serve(Client& client, SaMethod method, const ServiceRecord& record,
                            uint64_t mask) {
  SaMad mad = ask(client, method, SaAttribute::kServiceRecord, mask);
  packServiceRecord(record, mad.data.data());
  return client.ask(mad);
}

ServiceRecord serviceOf(const Answer& answer, size_t index = 0) {
  ServiceRecord record;
  const size_t at = kSaHeaderSize + index * kServiceRecordSize;
  CHECK(at < answer.bytes.size());
  CHECK(unpackServiceRecord(answer.bytes.data() + at, answer.bytes.size() - at, record));
  return record;
}

TEST("embedded service: registered, found by any field, replaced, deleted") {
  Bench bench;
  ServiceRecord record = service(bench.a(), 1);
  auto answer = serve(bench.a(), SaMethod::kSet, record, kServiceAll);
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.attributeOffset, 22);
  record.key = {};  // not told
  CHECK(serviceOf(*answer) == record);
  answer = serve(bench.b(), SaMethod::kGet, record, kById);
  CHECK(serviceOf(*answer) == record);
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, record, bit(ServiceComponent::kKey))->status(),
           kSaNoRecords);
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, record, bit(ServiceComponent::kData8, 15))->status(),
           kSaOk);
  ServiceRecord other = record;
  other.data8[15] = 8;
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, other, bit(ServiceComponent::kData8, 15))->status(),
           kSaNoRecords);
  other.leaseSeconds = 50;
  // The lease is not compared.
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, other, kById | bit(ServiceComponent::kLease))->status(),
           kSaOk);
  serve(bench.a(), SaMethod::kSet, other, kServiceAll);
  answer = serve(bench.b(), SaMethod::kGetTable, record, kById);
  CHECK_EQ(answer->bytes.size(), kSaHeaderSize + kServiceRecordSize);
  CHECK_EQ(serviceOf(*answer).leaseSeconds, 50u);
  // A Delete looks at ServiceID, GID and P_Key, in the mask or not.
  answer = serve(bench.a(), SaMethod::kDelete, record, 0);
  CHECK_EQ(answer->status(), kSaOk);
  CHECK_EQ(answer->mad.method, static_cast<uint8_t>(SaMethod::kDeleteResp));
  CHECK_EQ(serve(bench.a(), SaMethod::kDelete, record, 0)->status(), kSaNoRecords);
}

TEST("embedded service: refusals, an indefinite lease, the latest first") {
  Bench bench;
  ServiceRecord record = service(bench.a(), 1);
  CHECK_EQ(serve(bench.a(), SaMethod::kSet, record, kServiceAll & ~kById)->status(), kSaReqInvalid);
  CHECK_EQ(
      serve(bench.a(), SaMethod::kSet, record, kServiceAll & ~bit(ServiceComponent::kServiceGid))
          ->status(),
      kSaReqInvalid);
  record.pkey = 0x8001;
  CHECK_EQ(serve(bench.a(), SaMethod::kSet, record, kServiceAll)->status(), kSaReqInvalid);
  record.pkey = 0;
  CHECK_EQ(serve(bench.a(), SaMethod::kSet, record, kServiceAll)->status(), kSaOk);
  record.serviceGid = group(1);
  CHECK_EQ(serve(bench.a(), SaMethod::kSet, record, kServiceAll)->status(), kSaReqInvalid);
  const auto endless = serve(bench.a(), SaMethod::kSet, service(bench.a(), 2),
                             kServiceAll & ~bit(ServiceComponent::kLease));
  CHECK_EQ(serviceOf(*endless).leaseSeconds, kIndefiniteLease);
  CHECK_EQ(serve(bench.a(), SaMethod::kGet, record, 0)->status(), kSaTooManyRecords);
  const auto all = serve(bench.a(), SaMethod::kGetTable, record, 0);
  CHECK_EQ(serviceOf(*all, 0).serviceId, 2u);
  CHECK_EQ(serviceOf(*all, 1).serviceId, 1u);
}

TEST("embedded service: a lease runs out, and each registration begins it anew") {
  Bench bench;
  const ServiceRecord record = service(bench.a(), 1, 2);
  serve(bench.a(), SaMethod::kSet, record, kServiceAll);
  bench.advance(std::chrono::milliseconds{1900});
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, record, kById)->status(), kSaOk);
  serve(bench.a(), SaMethod::kSet, record, kServiceAll);
  bench.advance(std::chrono::milliseconds{1900});
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, record, kById)->status(), kSaOk);
  bench.advance(std::chrono::milliseconds{200});
  CHECK_EQ(serve(bench.b(), SaMethod::kGet, record, kById)->status(), kSaNoRecords);
}

InformInfo subscription(uint16_t trap, bool subscribe = true) {
  InformInfo info;
  info.lidRangeBegin = 0xffff;
  info.isGeneric = true;
  info.subscribe = subscribe;
  info.type = 0xffff;
  info.trapNumber = trap;
  info.qpn = 1;
  info.respTimeValue = 18;
  info.producerType = 4;
  return info;
}

uint16_t inform(Client& client, const InformInfo& info) {
  SaMad mad = ask(client, SaMethod::kSet, SaAttribute::kInformInfo, 0);
  packInformInfo(info, mad.data.data());
  return client.ask(mad)->status();
}

TEST("embedded subscription: made twice without complaint, ended once") {
  Bench bench;
  CHECK_EQ(inform(bench.a(), subscription(66, false)), kSaReqInvalid);
  CHECK_EQ(inform(bench.a(), subscription(66)), kSaOk);
  CHECK_EQ(inform(bench.a(), subscription(66)), kSaOk);
  CHECK_EQ(inform(bench.a(), subscription(66, false)), kSaOk);
  CHECK_EQ(inform(bench.a(), subscription(66, false)), kSaReqInvalid);
  InformInfo elsewhere = subscription(66);
  elsewhere.gid = group(1);
  CHECK_EQ(inform(bench.a(), elsewhere), kSaReqInvalid);
  SaMad get = ask(bench.a(), SaMethod::kGet, SaAttribute::kInformInfo, 0);
  CHECK_EQ(bench.a().ask(get)->status(), kSaMethodAttributeUnsupported);
}

}  // namespace
