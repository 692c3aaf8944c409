// Questions to the SA, and what stands there until it is taken back: on the embedded fabric, which
// answers as OpenSM does, and on a transport whose answers a test makes up.
#include <memory>

#include "check.h"
#include "codec/path_record.h"
#include "codec/service_record.h"
#include "sa/lab.h"

namespace {

using namespace rxib;
using rxib::test::Lab;
using rxib::test::ms;

std::shared_ptr<SaRequest> request(codec::SaMethod method, codec::SaAttribute attribute,
                                   uint64_t mask, size_t recordSize) {
  auto made = std::make_shared<SaRequest>();
  made->method = method;
  made->attribute = static_cast<uint16_t>(attribute);
  made->mask = mask;
  made->recordSize = recordSize;
  return made;
}

AskSpec pathsFrom(const Gid& sgid) {
  auto made = request(codec::SaMethod::kGetTable, codec::SaAttribute::kPathRecord,
                      bit(PathComponent::kSgid), kPathRecordSize);
  PathRecord path;
  path.sgid = sgid;
  codec::packPathRecord(path, made->data.data());
  AskSpec spec;
  spec.make = made;
  return spec;
}

constexpr uint64_t kServiceKey = bit(ServiceComponent::kServiceId) |
                                 bit(ServiceComponent::kServiceGid) | bit(ServiceComponent::kPkey);

AskSpec service(const Gid& gid, uint64_t id, uint32_t lease) {
  ServiceRecord record;
  record.serviceId = id;
  record.serviceGid = gid;
  record.pkey = 0xffff;
  record.leaseSeconds = lease;
  AskSpec spec;
  auto make = request(codec::SaMethod::kSet, codec::SaAttribute::kServiceRecord,
                      kServiceKey | bit(ServiceComponent::kLease), kServiceRecordSize);
  auto undo = request(codec::SaMethod::kDelete, codec::SaAttribute::kServiceRecord, kServiceKey,
                      kServiceRecordSize);
  auto probe = request(codec::SaMethod::kGet, codec::SaAttribute::kServiceRecord, kServiceKey,
                       kServiceRecordSize);
  for (const auto& one : {make, undo, probe}) {
    codec::packServiceRecord(record, one->data.data());
  }
  spec.make = make;
  spec.undo = undo;
  spec.probe = probe;
  if (lease != kIndefiniteLease) spec.lease = std::chrono::seconds{lease};
  return spec;
}

size_t servicesSeen(Lab& lab) {
  static HandleId next = 1000;
  AskSpec spec;
  spec.make = request(codec::SaMethod::kGetTable, codec::SaAttribute::kServiceRecord, 0,
                      kServiceRecordSize);
  const HandleId id = ++next;
  lab.b->ask(id, spec);
  const auto& done = lab.b->sink.last(id);
  CHECK_EQ(done.status, kOk);
  const size_t count = done.table->count;
  lab.b->free(id);
  return count;
}

TEST("sa asks: a table of any length, record by record") {
  embedded::FabricOptions options;
  options.ports = 40;
  Lab lab(options);
  lab.a->ask(1, pathsFrom(lab.gid(0)));
  const Completion& done = lab.a->sink.last(1);
  CHECK_EQ(done.status, kOk);
  CHECK_EQ(done.table->count, 40u);
  CHECK(!done.table->truncated);
  PathRecord path;
  CHECK(codec::unpackPathRecord(done.table->bytes.data() + 39 * done.table->stride,
                                done.table->bytes.size() - 39 * done.table->stride, path));
  CHECK(path.sgid == lab.gid(0));
  lab.a->free(1);
  CHECK(!lab.a->client.unsettled());
}

TEST("sa asks: without RMPP a table is cut, and says so") {
  embedded::FabricOptions options;
  options.ports = 40;
  options.rmpp = false;
  Lab lab(options);
  lab.a->ask(1, pathsFrom(lab.gid(0)));
  CHECK_EQ(lab.a->sink.last(1).table->count, 3u);
  CHECK(lab.a->sink.last(1).table->truncated);
}

TEST("sa asks: nothing found is an empty table, a refusal is EINVAL with its status") {
  Lab lab;
  Gid nobody;
  nobody.bytes[15] = 9;
  lab.a->ask(1, pathsFrom(nobody));
  CHECK_EQ(lab.a->sink.last(1).table->count, 0u);
  AskSpec spec;
  spec.make = request(codec::SaMethod::kGet, static_cast<codec::SaAttribute>(0x11), 0, 8);
  lab.a->ask(2, spec);
  CHECK_EQ(lab.a->sink.last(2).status, kEINVAL);
  CHECK_EQ(*lab.a->sink.last(2).saStatus, 0x000c);
}

TEST("sa asks: silence is ETIMEDOUT after the attempts, BUSY keeps its status, no port is EAGAIN") {
  Lab lab;
  lab.fabric.dropNext(embedded::kForever);
  lab.a->ask(1, pathsFrom(lab.gid(0)));
  lab.driver.advance(ms(2999));
  CHECK(lab.a->sink.statuses(1).empty());
  lab.driver.advance(ms(1));
  CHECK_EQ(lab.a->sink.told(1), "-110");
  CHECK_EQ(lab.a->stats.saRequests.get(), 3u);
  lab.fabric.dropNext(0);
  lab.fabric.setForcedStatus(codec::kSaBusy, embedded::kForever);
  lab.a->ask(2, pathsFrom(lab.gid(0)));
  lab.driver.advance(ms(3000));
  CHECK_EQ(lab.a->sink.told(2), "-110");
  CHECK_EQ(*lab.a->sink.last(2).saStatus, codec::kSaBusy);
  lab.fabric.portDown(0);
  lab.driver.advance(Duration{0});
  lab.a->ask(3, pathsFrom(lab.gid(0)));
  CHECK_EQ(lab.a->sink.told(3), "-11");
  lab.fabric.removeDevice(0);
  lab.driver.advance(Duration{0});
  lab.a->ask(4, pathsFrom(lab.gid(0)));
  CHECK_EQ(lab.a->sink.told(4), "-19");
}

TEST("sa asks: freed while under way, nothing is told and the answer is a late one") {
  embedded::FabricOptions options;
  options.delay = ms(10);
  Lab lab(options);
  lab.a->ask(1, pathsFrom(lab.gid(0)));
  lab.a->free(1);
  lab.driver.advance(ms(50));
  CHECK(lab.a->sink.statuses(1).empty());
  CHECK_EQ(lab.a->stats.lateReplies.get(), 1u);
}

TEST("sa asks: no more under way than the window, and groups get their turns") {
  sa::Options narrow = rxib::test::quietOptions();
  narrow.maxOutstanding = 4;
  embedded::FabricOptions options;
  options.delay = ms(1);
  Lab lab(options, narrow);
  for (HandleId id = 1; id <= 1000; ++id) lab.a->ask(id, pathsFrom(lab.gid(0)));
  lab.a->client.join(lab.driver.now(), 5000, std::make_unique<JoinSpec>(rxib::test::joinSpec(1)),
                     &lab.a->sink);
  lab.driver.advance(ms(10));
  CHECK(!lab.a->sink.statuses(5000).empty());
  lab.driver.advance(ms(10000));
  CHECK_EQ(lab.a->stats.outstandingPeak.get(), 4u);
  for (HandleId id = 1; id <= 1000; ++id) CHECK_EQ(lab.a->sink.told(id), "0");
}

TEST("sa asks: a service stands until it is freed") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  CHECK_EQ(lab.a->sink.told(1), "0");
  CHECK_EQ(servicesSeen(lab), 1u);
  lab.a->free(1);
  CHECK_EQ(servicesSeen(lab), 0u);
  CHECK(!lab.a->client.unsettled());
}

TEST("sa asks: a lease is renewed at half of it, without another word") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, 4));
  for (int i = 0; i < 20; ++i) {
    lab.driver.advance(ms(1000));
    CHECK_EQ(servicesSeen(lab), 1u);
  }
  CHECK_EQ(lab.a->sink.told(1), "0");
  CHECK_EQ(lab.fabric.counters().sets, 1u + 10u);
}

TEST("sa asks: a renewal that fails is tried again, and the loss is told when the lease is over") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, 20));
  lab.fabric.silence();
  lab.driver.advance(ms(19000));
  CHECK_EQ(lab.a->sink.told(1), "0");
  lab.driver.advance(ms(5000));
  CHECK_EQ(lab.a->sink.told(1), "0 -102");
  CHECK(lab.a->sink.last(1).reason == ResetReason::kMembershipLost);
}

TEST("sa asks: a service that the SM has forgotten is found by the audit") {
  sa::Options options = rxib::test::quietOptions();
  options.auditInterval = ms(1000);
  Lab lab({}, options);
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.driver.advance(ms(5000));
  CHECK_EQ(lab.a->sink.told(1), "0");
  lab.fabric.restartSm();
  lab.driver.advance(ms(1500));
  CHECK_EQ(lab.a->sink.told(1), "0 -102");
  CHECK(lab.a->sink.last(1).reason == ResetReason::kMembershipLost);
  const uint64_t deletes = lab.fabric.counters().deletes;
  lab.a->free(1);
  // Nothing is there to be deleted.
  CHECK_EQ(lab.fabric.counters().deletes, deletes);
}

TEST("sa asks: port events reset what stands, and what may still stand is taken back when freed") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.fabric.changeLid(0, 77);
  lab.driver.advance(Duration{0});
  CHECK_EQ(lab.a->sink.told(1), "0 -102");
  CHECK(lab.a->sink.last(1).reason == ResetReason::kLidChange);
  lab.a->free(1);
  // The one that comes after it is registered behind the Delete, not before it.
  lab.a->ask(2, service(lab.gid(0), 7, kIndefiniteLease));
  CHECK_EQ(lab.a->sink.told(2), "0");
  CHECK_EQ(servicesSeen(lab), 1u);
}

TEST("sa asks: of two handles on one service the first to go leaves it standing") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.a->ask(2, service(lab.gid(0), 7, kIndefiniteLease));
  lab.a->free(1);
  CHECK_EQ(servicesSeen(lab), 1u);
  lab.a->free(2);
  CHECK_EQ(servicesSeen(lab), 0u);
}

TEST("sa asks: freed while being registered, it is deleted once the answer is there") {
  embedded::FabricOptions options;
  options.delay = ms(10);
  Lab lab(options);
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.a->free(1);
  CHECK(lab.a->client.unsettled());
  lab.driver.advance(ms(100));
  CHECK(lab.a->sink.statuses(1).empty());
  CHECK_EQ(lab.fabric.counters().sets, 1u);
  CHECK_EQ(lab.fabric.counters().deletes, 1u);
  CHECK(!lab.a->client.unsettled());
}

TEST("sa asks: an answer lost after the registration leaves nothing behind") {
  Lab lab;
  lab.fabric.setReplyLost(embedded::kForever, static_cast<uint8_t>(codec::SaMethod::kSet));
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.driver.advance(ms(3000));
  CHECK_EQ(lab.a->sink.told(1), "-110");
  CHECK_EQ(servicesSeen(lab), 1u);
  lab.a->free(1);
  CHECK_EQ(servicesSeen(lab), 0u);
}

TEST("sa asks: a lost Delete is not repeated over the head of who registers the same again") {
  rxib::test::World world;
  const AskSpec spec = service(world.transport.state.gid, 7, kIndefiniteLease);
  world.client.ask(world.now, 1, spec, &world.sink);
  world.run();
  world.answerLast();
  world.free(1);
  world.run();
  CHECK(world.last().method() == codec::SaMethod::kDelete);
  world.client.ask(world.now, 2, spec, &world.sink);
  world.advance(ms(3000));
  CHECK(world.last().method() == codec::SaMethod::kSet);
  const size_t mark = world.mark();
  world.answerLast();
  world.advance(ms(60000));
  CHECK_EQ(world.sink.told(2), "0");
  CHECK_EQ(world.mark(), mark);
  world.free(2);
  world.run();
  CHECK(world.last().method() == codec::SaMethod::kDelete);
  world.answerLast();
  world.checkEmpty();
}

TEST("sa asks: a detached sink's services go, and a lost Delete is repeated") {
  Lab lab;
  lab.a->ask(1, service(lab.gid(0), 7, kIndefiniteLease));
  lab.fabric.dropNext(2, static_cast<uint8_t>(codec::SaMethod::kDelete));
  lab.a->client.detach(lab.driver.now(), &lab.a->sink);
  lab.a->slot.wake();
  lab.driver.advance(ms(2500));
  CHECK_EQ(servicesSeen(lab), 0u);
}

TEST("sa asks: the record of a group that the port holds, and of no other") {
  Lab lab;
  const Gid group = rxib::test::mgid(1);
  CHECK(!lab.a->client.memberRecord(group).has_value());
  sa::JoinSpec spec = rxib::test::joinSpec(1);
  spec.record.mgid.bytes[1] = 0x15;  // of the SA's own signature only other scopes may be asked for
  lab.a->client.join(lab.driver.now(), 1, std::make_unique<JoinSpec>(spec), &lab.a->sink);
  lab.a->slot.wake();
  lab.driver.advance(Duration{0});
  CHECK_EQ(lab.a->sink.told(1), "0");
  const auto record = lab.a->client.memberRecord(spec.record.mgid);
  CHECK(record.has_value());
  CHECK_EQ(record->mlid, 0xc001);
  CHECK_EQ(record->joinState, kFullMember);
  lab.a->free(1);
  CHECK(!lab.a->client.memberRecord(spec.record.mgid).has_value());
}

/** Asks for the group's record at every word, as a thread may that hears of it at once. */
struct AskingBack final : rxib::test::RecordingSink {
  explicit AskingBack(Lab& of) : lab(of) {}
  void complete(Completion completion) override {
    held.push_back(lab.a->client.memberRecord(group).has_value());
    RecordingSink::complete(std::move(completion));
  }
  Lab& lab;
  Gid group;
  std::vector<bool> held;
};

TEST("sa asks: the record of a group is gone when the first member hears of a reset") {
  Lab lab;
  AskingBack sink(lab);
  lab.a->client.attach(&sink);
  for (HandleId id : {1, 2}) {
    sa::JoinSpec spec = rxib::test::joinSpec(1);
    spec.record.mgid.bytes[1] = 0x15;
    sink.group = spec.record.mgid;
    lab.a->client.join(lab.driver.now(), id, std::make_unique<JoinSpec>(spec), &sink);
    lab.a->slot.wake();
    lab.driver.advance(Duration{0});
  }
  lab.fabric.changeLid(0, 77);
  lab.driver.advance(Duration{0});
  CHECK_EQ(sink.told(1), "0 -102");
  CHECK_EQ(sink.told(2), "0 -102");
  CHECK((sink.held == std::vector<bool>{true, true, false, false}));
  lab.a->client.detach(lab.driver.now(), &sink);
}

// Answers that are none.

/** Asks for paths and answers with so many bytes of data under this offset. */
std::string toldAfter(size_t data, uint16_t offset, uint16_t method = 0x92,
                      uint16_t attribute = 0x35) {
  rxib::test::World world;
  Gid sgid;
  sgid.bytes[15] = 1;
  world.client.ask(world.now, 1, pathsFrom(sgid), &world.sink);
  world.run();
  CHECK_EQ(world.last().mad.attributeId, 0x35);
  CHECK_EQ(world.last().mad.method, 0x12);
  codec::SaMad answer = world.last().mad;
  answer.method = static_cast<uint8_t>(method);
  answer.attributeId = attribute;
  answer.attributeOffset = offset;
  ReceivedMad mad = rxib::test::received(answer, world.last().lid);
  mad.bytes.resize(codec::kSaHeaderSize + data);
  world.transport.deliver(mad);
  world.run();
  std::string told = world.sink.told(1);
  if (told.empty()) {
    world.advance(ms(3000));
    return "then " + world.sink.told(1);
  }
  const auto& table = world.sink.last(1).table;
  if (table != nullptr) {
    told += ": " + std::to_string(table->count) + (table->truncated ? " and more" : "");
    CHECK(table->count == 0 ||
          table->bytes.size() == (table->count - 1) * table->stride + kPathRecordSize);
  }
  return told;
}

TEST("sa asks: an answer that is no table of the records asked for is EPROTO") {
  CHECK_EQ(toldAfter(128, 8), "0: 2");
  CHECK_EQ(toldAfter(0, 0), "0: 0");
  CHECK_EQ(toldAfter(200, 8), "0: 3 and more");
  CHECK_EQ(toldAfter(128, 7), "-71");       // records overlap
  CHECK_EQ(toldAfter(128, 0), "-71");       // data without an offset
  CHECK_EQ(toldAfter(63, 8), "-71");        // not one record
  CHECK_EQ(toldAfter(200, 0xffff), "-71");  // a record longer than the answer
  CHECK_EQ(toldAfter(72, 9), "0: 1");       // padding is nobody's business
}

TEST("sa asks: an answer of another kind is counted, and waited past") {
  CHECK_EQ(toldAfter(128, 8, 0x81), "then -110");
  CHECK_EQ(toldAfter(128, 8, 0x92, 0x38), "then -110");
}

TEST("sa asks: no length of an answer is read beyond") {
  for (size_t data = 0; data < 400; ++data) {
    for (uint16_t offset : {0, 1, 7, 8, 9, 20, 25, 0xffff}) toldAfter(data, offset);
  }
  rxib::test::World world;
  Gid sgid;
  world.client.ask(world.now, 1, pathsFrom(sgid), &world.sink);
  world.run();
  ReceivedMad mad = rxib::test::received(world.last().mad, world.last().lid);
  for (size_t size = 0; size < codec::kSaHeaderSize; ++size) {
    ReceivedMad cut = mad;
    cut.bytes.resize(size);
    world.transport.deliver(cut);
  }
  world.run();
  CHECK(world.sink.statuses(1).empty());
  CHECK_EQ(world.stats.malformedReplies.get(), codec::kSaHeaderSize);
}

}  // namespace
