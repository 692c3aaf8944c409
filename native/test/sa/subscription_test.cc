// Subscriptions to what the subnet administrator reports, on the embedded fabric and, where it must
// misbehave, on a scripted transport.
#include "sa/subscription.h"

#include "check.h"
#include "codec/byte_order.h"
#include "codec/inform_info.h"
#include "sa/lab.h"

namespace {

using namespace rxib;
using rxib::test::Lab;
using rxib::test::ms;
using rxib::test::World;

const AskSpec created = sa::subscriptionTo(kTrapGroupCreated);
const AskSpec deleted = sa::subscriptionTo(kTrapGroupDeleted);

Gid groupOf(uint8_t n) {
  Gid gid = rxib::test::mgid(n);
  gid.bytes[1] = 0x15;
  return gid;
}

/** A member of the group comes, or goes, on the first port. */
void join(Lab& lab, HandleId id, uint8_t group) {
  lab.a->client.join(lab.driver.now(), id,
                     std::make_unique<JoinSpec>(rxib::test::joinSpec(groupOf(group))),
                     &lab.a->sink);
  lab.a->slot.wake();
  lab.driver.advance(Duration{0});
  CHECK_EQ(lab.a->sink.told(id), "0");
}

/** What a handle was told, news as the last byte of their MGID. */
std::string told(const rxib::test::RecordingSink& sink, HandleId id) {
  std::string text;
  for (const Completion& completion : sink.completions) {
    if (completion.handle != id) continue;
    if (!text.empty()) text += " ";
    Notice notice;
    if (completion.table != nullptr && completion.table->notice &&
        codec::unpackNotice(completion.table->bytes.data(), completion.table->bytes.size(),
                            notice)) {
      text += "#" + std::to_string(codec::noticeGid(notice).bytes[15]);
    } else {
      text += std::to_string(completion.status);
    }
  }
  return text;
}

/** Whether the SA still has the subscription of a port: only then does it end without complaint. */
bool subscribed(Lab::Port& port, const AskSpec& to) {
  static HandleId next = 5000;
  AskSpec end;
  end.make = to.undo;
  const HandleId id = ++next;
  port.ask(id, end);
  const bool ended = port.sink.last(id).status == kOk;
  if (!ended) CHECK_EQ(*port.sink.last(id).saStatus, codec::kSaReqInvalid);
  port.free(id);
  return ended;
}

TEST("sa subscriptions: groups made and deleted are told until the handle is freed") {
  Lab lab;
  lab.b->ask(1, created);
  lab.b->ask(2, deleted);
  join(lab, 10, 1);
  join(lab, 11, 2);
  lab.a->free(10);
  CHECK_EQ(told(lab.b->sink, 1), "0 #1 #2");
  CHECK_EQ(told(lab.b->sink, 2), "0 #1");
  lab.b->free(1);
  lab.a->free(11);
  join(lab, 12, 3);
  CHECK_EQ(told(lab.b->sink, 1), "0 #1 #2");
  CHECK_EQ(told(lab.b->sink, 2), "0 #1 #2");
  lab.b->free(2);
  CHECK(!subscribed(*lab.b, created));
  CHECK(!subscribed(*lab.b, deleted));
  CHECK(!lab.b->client.unsettled());
}

TEST("sa subscriptions: several handles share one, and the last to go ends it") {
  Lab lab;
  lab.b->ask(1, created);
  lab.b->ask(2, created);
  lab.b->free(1);
  join(lab, 10, 1);
  CHECK_EQ(told(lab.b->sink, 1), "0");
  CHECK_EQ(told(lab.b->sink, 2), "0 #1");
  lab.b->free(2);
  CHECK(!subscribed(*lab.b, created));
}

TEST("sa subscriptions: reports go to one client of a port; another gets EBUSY until it goes") {
  Lab lab;
  Lab::Port rival(lab, 1, rxib::test::quietOptions());
  lab.b->ask(1, created);
  rival.ask(2, created);
  CHECK_EQ(told(rival.sink, 2), "-16");
  rival.free(2);
  lab.b->free(1);
  rival.ask(3, created);
  join(lab, 10, 1);
  CHECK_EQ(told(rival.sink, 3), "0 #1");
}

TEST("sa subscriptions: made anew after a reset, and said so") {
  Lab lab;
  lab.b->ask(1, created);
  lab.fabric.takeover(9);
  lab.driver.advance(Duration{0});
  CHECK_EQ(told(lab.b->sink, 1), "0 -102 0");
  CHECK_EQ(lab.b->sink.completions[1].reason, ResetReason::kSmChange);
  join(lab, 10, 1);
  CHECK_EQ(told(lab.b->sink, 1), "0 -102 0 #1");
  lab.fabric.restartSm(true);
  lab.driver.advance(Duration{0});
  CHECK_EQ(told(lab.b->sink, 1), "0 -102 0 #1 -102 0");
  lab.b->free(1);
  CHECK(!subscribed(*lab.b, created));
}

TEST("sa subscriptions: an outage lasts as long as it takes, and is told once") {
  Lab lab;
  lab.b->ask(1, created);
  lab.fabric.portDown(1);
  lab.driver.advance(std::chrono::minutes{10});
  CHECK_EQ(told(lab.b->sink, 1), "0 -102");
  lab.fabric.killSm();
  lab.fabric.portUp(1);
  lab.driver.advance(std::chrono::minutes{1});
  lab.fabric.clientReregister(1);
  lab.driver.advance(std::chrono::minutes{1});
  lab.fabric.startSm();
  lab.fabric.setForcedStatus(codec::kSaReqDenied, 2);
  CHECK_EQ(told(lab.b->sink, 1), "0 -102");
  lab.driver.advance(ms(10000));
  CHECK_EQ(told(lab.b->sink, 1), "0 -102 0");
  join(lab, 10, 1);
  CHECK_EQ(told(lab.b->sink, 1), "0 -102 0 #1");
}

TEST("sa subscriptions: what the SA keeps refusing to renew ends, whatever its status") {
  for (const uint16_t status : {codec::kSaNoRecords, codec::kSaReqInvalid, codec::kSaReqDenied}) {
    Lab lab;
    lab.b->ask(1, created);
    lab.fabric.setForcedStatus(status, embedded::kForever);
    lab.fabric.clientReregister(1);
    lab.driver.advance(ms(29500));
    CHECK_EQ(told(lab.b->sink, 1), "0 -102");
    // Silence is no refusal, and another port event begins anew.
    lab.fabric.silence();
    lab.driver.advance(ms(10000));
    lab.fabric.resume();
    lab.driver.advance(ms(20000));
    lab.fabric.clientReregister(1);
    lab.driver.advance(ms(29500));
    CHECK_EQ(told(lab.b->sink, 1), "0 -102");
    lab.driver.advance(ms(1000));
    CHECK_EQ(told(lab.b->sink, 1), "0 -102 -22");
    CHECK_EQ(*lab.b->sink.last(1).saStatus, status);
    lab.fabric.setForcedStatus(status, 0);
    lab.driver.advance(std::chrono::minutes{1});
    CHECK_EQ(told(lab.b->sink, 1), "0 -102 -22");
    lab.b->free(1);
    CHECK(!subscribed(*lab.b, created));
    CHECK(!lab.b->client.unsettled());
  }
}

TEST("sa subscriptions: a refusal that passes is made good, with or without a reset before it") {
  for (const bool reset : {true, false}) {
    sa::Options options = rxib::test::quietOptions();
    options.auditInterval = ms(10000);
    Lab lab({}, options);
    lab.b->ask(1, created);
    lab.fabric.setForcedStatus(codec::kSaNoRecords, embedded::kForever);
    if (reset) lab.fabric.clientReregister(1);
    lab.driver.advance(ms(25000));
    lab.fabric.setForcedStatus(codec::kSaNoRecords, 0);
    lab.driver.advance(ms(2000));
    join(lab, 10, 1);
    CHECK_EQ(told(lab.b->sink, 1), reset ? "0 -102 0 #1" : "0 #1");
  }
}

TEST("sa subscriptions: freed in the middle of an outage, nothing is left behind") {
  Lab lab;
  lab.b->ask(1, created);
  lab.fabric.setReplyLost(embedded::kForever);
  lab.fabric.clientReregister(1);
  lab.driver.advance(ms(500));
  lab.b->free(1);
  lab.fabric.setReplyLost(0);
  lab.driver.advance(ms(10000));
  CHECK(!subscribed(*lab.b, created));
  CHECK(!lab.b->client.unsettled());
}

TEST("sa subscriptions: a renewal that is refused does not speak for the one before") {
  World world;
  world.client.ask(world.now, 1, created, &world.sink);
  world.run();
  world.answerLast();
  world.event(ResetReason::kClientReregister);
  CHECK_EQ(world.sink.told(1), "0 -102");
  const size_t before = world.mark();
  world.free(1);
  world.answerLast(codec::kSaReqDenied);
  CHECK_EQ(world.mark(), before + 1);
  InformInfo info;
  codec::unpackInformInfo(world.last().mad.data.data(), codec::kSaDataSize, info);
  CHECK(!info.subscribe);
  CHECK_EQ(info.trapNumber, kTrapGroupCreated);
}

TEST("sa subscriptions: an SM that restarted unseen is subscribed to again by the audit") {
  sa::Options options = rxib::test::quietOptions();
  options.auditInterval = ms(10000);
  Lab lab({}, options);
  lab.b->ask(1, created);
  lab.fabric.restartSm();
  join(lab, 10, 1);
  CHECK_EQ(told(lab.b->sink, 1), "0");
  lab.driver.advance(ms(12000));
  join(lab, 11, 2);
  CHECK_EQ(told(lab.b->sink, 1), "0 #2");
}

TEST("sa subscriptions: of a removed device they are lost for good") {
  Lab lab;
  lab.b->ask(1, created);
  lab.fabric.removeDevice(1);
  lab.driver.advance(Duration{0});
  CHECK_EQ(told(lab.b->sink, 1), "0 -102");
  CHECK_EQ(lab.b->sink.last(1).reason, ResetReason::kDeviceRemoved);
  lab.b->free(1);
  CHECK(!lab.b->client.unsettled());
}

TEST("sa subscriptions: reports are wanted from the transport as long as there is one") {
  World world;
  world.client.ask(world.now, 1, created, &world.sink);
  world.client.ask(world.now, 2, deleted, &world.sink);
  CHECK_EQ(world.transport.reportCalls.size(), size_t{1});
  world.run();
  world.answerLast();
  world.transport.answer(world.transport.sent[0]);
  world.run();
  world.free(1);
  world.run();
  world.answerLast();
  CHECK_EQ(world.transport.reportCalls.size(), size_t{1});
  world.free(2);
  world.run();
  // Reports may come, and want an answer, until the SA has heard of it.
  CHECK_EQ(world.transport.reportCalls.size(), size_t{1});
  world.answerLast();
  CHECK_EQ(world.transport.reportCalls.size(), size_t{2});
  CHECK(!world.transport.reportCalls[1]);
}

codec::SaMad reportOf(uint8_t group, uint64_t transaction) {
  Notice notice;
  notice.isGeneric = true;
  notice.producerType = 4;
  notice.trapNumber = kTrapGroupCreated;
  codec::setNoticeGid(notice, groupOf(group));
  codec::SaMad mad;
  mad.method = static_cast<uint8_t>(codec::SaMethod::kReport);
  mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kNotice);
  mad.transactionId = transaction;
  codec::packNotice(notice, mad.data.data());
  return mad;
}

TEST("sa subscriptions: every report is answered, and a repeated one told once") {
  World world;
  world.client.ask(world.now, 1, created, &world.sink);
  world.run();
  world.answerLast();
  const auto report = [&](const codec::SaMad& mad, uint16_t lid = 1) {
    const size_t before = world.mark();
    world.transport.deliver(rxib::test::received(mad, lid));
    world.run();
    return world.mark() - before;
  };
  CHECK_EQ(report(reportOf(1, 7)), size_t{1});
  CHECK_EQ(int{world.last().mad.method}, 0x86);
  CHECK_EQ(world.last().mad.transactionId, uint64_t{7});
  CHECK_EQ(world.last().lid, 1);
  CHECK_EQ(world.last().timeout.count(), 0);
  CHECK_EQ(report(reportOf(1, 7)), size_t{1});
  CHECK_EQ(report(reportOf(1, 8)), size_t{1});
  CHECK_EQ(told(world.sink, 1), "0 #1 #1");
  // A stranger is not the subnet administrator, whatever it says.
  CHECK_EQ(report(reportOf(1, 9), 5), size_t{0});
  codec::SaMad other = reportOf(1, 10);
  other.attributeId = static_cast<uint16_t>(codec::SaAttribute::kPathRecord);
  CHECK_EQ(report(other), size_t{0});
  CHECK_EQ(told(world.sink, 1), "0 #1 #1");
  CHECK_EQ(world.stats.foreignReplies.get(), uint64_t{2});
  // A vendor's notice is answered; its number says nothing about groups.
  codec::SaMad vendors = reportOf(1, 11);
  vendors.data[0] &= 0x7f;
  CHECK_EQ(report(vendors), size_t{1});
  CHECK_EQ(told(world.sink, 1), "0 #1 #1");
  // A subnet manager that has started anew may count from the same number.
  world.event(ResetReason::kClientReregister);
  world.answerLast();
  report(reportOf(1, 8));
  CHECK_EQ(told(world.sink, 1), "0 #1 #1 -102 0 #1");
}

}  // namespace
