// The wire, the subnet manager and the ports under every control, on a manual clock.
#include <algorithm>
#include <chrono>

#include "bench_fabric.h"
#include "check.h"

using namespace rxib;
using namespace rxib::codec;
using namespace rxib::embedded::test;
using namespace std::chrono_literals;
using rxib::embedded::Fabric;
using rxib::embedded::FabricOptions;
using rxib::embedded::kForever;

namespace {

constexpr uint8_t kSet = static_cast<uint8_t>(SaMethod::kSet);
constexpr uint8_t kDelete = static_cast<uint8_t>(SaMethod::kDelete);
constexpr uint16_t kNoAnswer = Client::kNoAnswer;

SaMad getOf(Client& client, const Gid& mgid) {
  return client.request(SaMethod::kGet, client.membership(mgid), bit(McComponent::kMgid));
}

SaMad createOf(Client& client, const Gid& mgid) {
  return client.request(SaMethod::kSet, client.creation(mgid), kMcCreationComponents);
}

}  // namespace

TEST("embedded wire: the answer comes after both ways, not before") {
  FabricOptions options;
  options.delay = 5ms;
  Bench bench(options);
  bench.advance(1s);
  bench.a().send(createOf(bench.a(), group(1)));
  bench.advance(4ms);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  bench.advance(1ms);
  CHECK_EQ(bench.fabric.members().size(), 1u);
  CHECK_EQ(bench.a().answers.size(), 0u);
  bench.advance(5ms - 1us);
  CHECK_EQ(bench.a().answers.size(), 0u);
  CHECK_EQ(bench.fabric.counters().inFlight, 1u);
  bench.advance(1us);
  CHECK_EQ(bench.a().answers.size(), 1u);
  CHECK_EQ(bench.fabric.counters().inFlight, 0u);
}

TEST("embedded wire: a changed delay leaves alone what is on its way") {
  FabricOptions options;
  options.delay = 5ms;
  Bench bench(options);
  bench.a().send(getOf(bench.a(), group(1)));
  bench.advance(1ms);
  bench.fabric.setDelay(50ms);
  bench.advance(53ms);
  CHECK_EQ(bench.a().answers.size(), 0u);
  bench.advance(1ms);
  CHECK_EQ(bench.a().answers.size(), 1u);
}

TEST("embedded wire: each client gets its own answers, all get the port's events") {
  Bench bench;
  Client second(bench.fabric, bench.driver, 0);
  SaMad request = getOf(bench.a(), group(1));
  request.transactionId = 42;
  bench.a().send(request);
  second.send(request);
  bench.a().send(request);
  bench.advance(0ms);
  CHECK_EQ(bench.a().answers.size(), 2u);
  CHECK_EQ(second.answers.size(), 1u);
  CHECK(bench.a().answers[0].mad.transactionId != second.answers[0].mad.transactionId);
  bench.fabric.changeLid(0, 9);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(second.events.size(), 1u);
  CHECK_EQ(bench.b().events.size(), 0u);
}

TEST("embedded wire: a request to a LID where no SM is") {
  Bench bench;
  CHECK_EQ(bench.a().sendTo(getOf(bench.a(), group(1)), 77), kOk);
  bench.advance(1s);
  CHECK_EQ(bench.a().answers.size(), 0u);
  CHECK_EQ(bench.fabric.counters().requestsDropped, 1u);
  CHECK_EQ(bench.fabric.counters().gets, 0u);
}

TEST("embedded wire: loss of requests, loss of answers") {
  Bench bench;
  bench.fabric.setLoss(1, 0);
  CHECK_EQ(bench.a().create(group(1)), kNoAnswer);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  bench.fabric.setLoss(0, 1);
  CHECK_EQ(bench.a().create(group(1)), kNoAnswer);
  CHECK_EQ(bench.fabric.members().size(), 1u);
  bench.fabric.setLoss(0.25, 0.25);
  int answered = 0;
  for (int i = 0; i < 1000; ++i) answered += bench.a().find(group(1)) == kSaOk ? 1 : 0;
  CHECK(answered > 500 && answered < 625);
  bench.fabric.setLoss(0, 0);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  const auto counters = bench.fabric.counters();
  CHECK_EQ(counters.outstanding, 0u);
  CHECK_EQ(counters.gets + counters.sets + counters.requestsDropped, 1003u);
  CHECK_EQ(counters.replies + counters.requestsDropped + counters.repliesDropped, 1003u);
}

TEST("embedded wire: the next requests are dropped, or their answers") {
  Bench bench;
  bench.fabric.dropNext(2);
  CHECK_EQ(bench.a().create(group(1)), kNoAnswer);
  CHECK_EQ(bench.a().create(group(1)), kNoAnswer);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  bench.fabric.dropNext(1, kDelete);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  CHECK_EQ(bench.a().leave(group(1)), kNoAnswer);
  bench.fabric.setReplyLost(1, kDelete);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  CHECK_EQ(bench.a().leave(group(1)), kNoAnswer);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.a().leave(group(1)), kSaReqInvalid);
  bench.fabric.setReplyLost(kForever);
  for (int i = 0; i < 5; ++i) CHECK_EQ(bench.a().find(group(1)), kNoAnswer);
  bench.fabric.setReplyLost(0);
  CHECK_EQ(bench.a().find(group(1)), kSaNoRecords);
}

TEST("embedded wire: duplicated answers") {
  Bench bench;
  bench.fabric.setDuplication(1);
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  CHECK_EQ(bench.a().answers.size(), 2u);
  CHECK_EQ(bench.a().answers[0].mad.transactionId, bench.a().answers[1].mad.transactionId);
  CHECK_EQ(bench.fabric.members().size(), 1u);
  CHECK_EQ(bench.fabric.counters().duplicates, 1u);
  CHECK_EQ(bench.fabric.counters().replies, 2u);
  CHECK_EQ(bench.fabric.counters().outstanding, 0u);
}

TEST("embedded wire: reordered answers, all of them in the end") {
  Bench bench;
  bench.fabric.setReordering(0.5, 10ms);
  std::vector<uint64_t> sent;
  for (uint32_t i = 0; i < 50; ++i) {
    const SaMad request = getOf(bench.a(), group(i));
    sent.push_back(request.transactionId);
    bench.a().send(request);
  }
  bench.advance(10ms);
  CHECK_EQ(bench.a().answers.size(), 50u);
  std::vector<uint64_t> received;
  for (const Answer& answer : bench.a().answers) {
    received.push_back(answer.mad.transactionId & 0xffffffff);
  }
  CHECK(received != sent);
  std::sort(received.begin(), received.end());
  CHECK(received == sent);
}

TEST("embedded SM: forced statuses are not executed") {
  Bench bench;
  bench.fabric.setForcedStatus(kSaBusy, 2);
  CHECK_EQ(bench.a().create(group(1)), kSaBusy);
  CHECK_EQ(bench.a().create(group(1)), kSaBusy);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  bench.fabric.setForcedStatus(kSaNoResources, kForever, kSet);
  CHECK_EQ(bench.a().create(group(2)), kSaNoResources);
  CHECK_EQ(bench.a().find(group(1)), kSaOk);
  CHECK_EQ(bench.a().create(group(2)), kSaNoResources);
  bench.fabric.setForcedStatus(0, 0);
  CHECK_EQ(bench.a().create(group(2)), kSaOk);
}

TEST("embedded SM: a service rate queues requests in order") {
  FabricOptions options;
  options.serviceRate = 100;
  Bench bench(options);
  for (uint32_t i = 0; i < 5; ++i) bench.a().send(createOf(bench.a(), group(i)));
  bench.advance(0ms);
  CHECK_EQ(bench.fabric.counters().queued, 5u);
  CHECK_EQ(bench.fabric.counters().outstandingPeak, 5u);
  bench.advance(9ms);
  CHECK_EQ(bench.a().answers.size(), 0u);
  bench.advance(41ms);
  CHECK_EQ(bench.a().answers.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(bench.a().answers[i].record().mgid == group(static_cast<uint32_t>(i)));
    CHECK(bench.a().arrivals[i] == Instant{Duration{10ms} * static_cast<int>(i + 1)});
  }
  // An idle server takes its time for a single request as well; a faster one takes over at once.
  bench.a().send(createOf(bench.a(), group(9)));
  bench.advance(5ms);
  bench.fabric.setServiceRate(0);
  bench.advance(0ms);
  CHECK_EQ(bench.a().answers.size(), 6u);
}

TEST("embedded SM: silent, it answers later, in order") {
  Bench bench;
  bench.fabric.silence();
  bench.a().send(createOf(bench.a(), group(1)));
  bench.advance(10s);
  bench.b().send(
      bench.b().request(SaMethod::kSet, bench.b().membership(group(1)), kMembershipMask));
  bench.advance(10s);
  CHECK_EQ(bench.fabric.counters().queued, 2u);
  CHECK_EQ(bench.fabric.counters().sets, 2u);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  bench.fabric.resume();
  bench.advance(0ms);
  CHECK_EQ(bench.a().answers.size(), 1u);
  CHECK_EQ(bench.b().answers.size(), 1u);
  CHECK_EQ(bench.b().answers[0].status(), kSaOk);
  CHECK_EQ(bench.fabric.counters().queued, 0u);
}

TEST("embedded SM: dead, it loses everything and nobody notices") {
  Bench bench;
  bench.a().create(group(1));
  bench.fabric.silence();
  bench.a().send(createOf(bench.a(), group(2)));
  bench.advance(0ms);
  bench.fabric.killSm();
  bench.fabric.resume();
  CHECK_EQ(bench.a().find(group(1)), kNoAnswer);
  CHECK_EQ(bench.fabric.counters().queued, 0u);
  CHECK_EQ(bench.fabric.counters().outstanding, 0u);
  bench.fabric.startSm();
  CHECK_EQ(bench.a().findOwn(group(1)), kSaNoRecords);
  CHECK_EQ(bench.fabric.groups().size(), 1u);
  CHECK_EQ(bench.a().events.size(), 0u);
}

TEST("embedded SM: a restart, with and without reregistration") {
  Bench bench;
  bench.a().create(group(1));
  bench.fabric.restartSm();
  bench.advance(0ms);
  CHECK_EQ(bench.a().findOwn(group(1)), kSaNoRecords);
  CHECK_EQ(bench.a().events.size(), 0u);
  bench.fabric.portDown(1);
  bench.fabric.restartSm(true);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kClientReregister);
  CHECK_EQ(bench.b().events.size(), 1u);
  CHECK_EQ(bench.b().events[0].reason, ResetReason::kPortError);
}

TEST("embedded SM: a takeover moves the SM and forgets the groups") {
  FabricOptions options;
  options.delay = 5ms;
  Bench bench(options);
  bench.a().ask(createOf(bench.a(), group(1)), 10ms);
  bench.a().send(getOf(bench.a(), group(1)));
  bench.advance(1ms);
  bench.fabric.takeover(8);
  bench.advance(20ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kSmChange);
  CHECK_EQ(bench.a().statesAtEvents[0].smLid, 8);
  CHECK_EQ(bench.b().events.size(), 1u);
  // The request to the old LID found nobody there.
  CHECK_EQ(bench.a().answers.size(), 1u);
  CHECK_EQ(bench.fabric.counters().requestsDropped, 1u);
  const auto answer = bench.a().ask(getOf(bench.a(), group(1)), 10ms);
  CHECK_EQ(answer->status(), kSaNoRecords);
  CHECK_EQ(answer->sourceLid, 8);
}

TEST("embedded port: down and up") {
  FabricOptions options;
  options.delay = 5ms;
  Bench bench(options);
  bench.a().ask(createOf(bench.a(), group(1)), 10ms);
  bench.b().ask(bench.b().request(SaMethod::kSet, bench.b().membership(group(1)), kMembershipMask),
                10ms);
  bench.a().answers.clear();
  bench.a().send(createOf(bench.a(), group(2)));  // on its way there
  bench.advance(5ms);
  bench.a().send(createOf(bench.a(), group(3)));
  bench.advance(1ms);                             // now one request and one answer are on the wire
  bench.a().send(createOf(bench.a(), group(4)));  // and one has not left yet
  bench.fabric.portDown(0);
  bench.fabric.portDown(0);
  bench.advance(1s);
  CHECK_EQ(bench.a().answers.size(), 0u);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kPortError);
  CHECK(bench.a().statesAtEvents[0].phase == PortPhase::kDown);
  CHECK_EQ(bench.fabric.members().size(), 1u);
  CHECK(bench.fabric.members()[0].portGid == bench.b().port().gid);
  CHECK_EQ(bench.fabric.counters().outstanding, 0u);
  // Sends are taken and come to nothing.
  CHECK_EQ(bench.a().send(getOf(bench.a(), group(1))), kOk);
  bench.advance(1s);
  CHECK_EQ(bench.a().answers.size(), 0u);
  bench.fabric.portUp(0);
  bench.fabric.portUp(0);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 2u);
  CHECK_EQ(bench.a().events[1].reason, ResetReason::kNone);
  CHECK(bench.a().statesAtEvents[1].active());
  CHECK_EQ(bench.a().ask(createOf(bench.a(), group(1)), 10ms)->status(), kSaOk);
}

TEST("embedded port: joins for a port that is down are refused") {
  Bench bench;
  bench.fabric.portDown(1);
  McMemberRecord record = bench.a().creation(group(1));
  record.portGid = bench.b().port().gid;
  CHECK_EQ(bench.a().statusOf(SaMethod::kSet, record, kMcCreationComponents), kSaReqInvalid);
}

TEST("embedded port: a new LID keeps the memberships and loses answers to the old one") {
  FabricOptions options;
  options.delay = 5ms;
  Bench bench(options);
  bench.a().send(createOf(bench.a(), group(1)));
  bench.advance(6ms);
  bench.fabric.changeLid(0, 44);
  bench.fabric.changeLid(0, 44);
  bench.advance(10ms);
  CHECK_EQ(bench.a().answers.size(), 0u);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kLidChange);
  CHECK_EQ(bench.a().statesAtEvents[0].lid, 44);
  CHECK_EQ(bench.a()
               .ask(bench.a().request(SaMethod::kGet, bench.a().membership(group(1)), 3), 10ms)
               ->status(),
           kSaOk);
}

TEST("embedded port: a new GID ends the memberships of the old one") {
  Bench bench;
  bench.a().create(group(1));
  Gid moved = bench.a().port().gid;
  moved.bytes[1] = 0xc0;
  moved.bytes[15] = 0x77;
  bench.fabric.changeGid(0, moved);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kGidChange);
  CHECK(bench.a().port().gid == moved);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
  CHECK(bench.fabric.members()[0].portGid == moved);
}

TEST("embedded port: a new P_Key table is told with the old one") {
  Bench bench;
  bench.a().create(group(1));
  bench.fabric.setPkeys(0, {0x8001, 0xffff});
  bench.fabric.setPkeys(0, {0x8001, 0xffff});
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kPkeyChange);
  CHECK(bench.a().events[0].pkeysBefore == std::vector<uint16_t>{0xffff});
  CHECK_EQ(bench.a().port().pkeys[1], 0xffff);
  CHECK_EQ(bench.fabric.members().size(), 1u);
  bench.fabric.setPkeys(0, {0x8001});
  CHECK_EQ(bench.a().join(group(1), kNonMember), kSaReqInvalid);
}

TEST("embedded port: client reregister leaves the memberships alone") {
  Bench bench;
  bench.a().create(group(1));
  bench.fabric.clientReregister(0);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kClientReregister);
  CHECK_EQ(bench.fabric.members().size(), 1u);
}

TEST("embedded port: a removed device is gone for good") {
  Bench bench;
  bench.a().create(group(1));
  bench.fabric.removeDevice(0);
  CHECK_EQ(bench.a().send(getOf(bench.a(), group(1))), kENODEV);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.a().events[0].reason, ResetReason::kDeviceRemoved);
  CHECK_EQ(bench.fabric.members().size(), 0u);
  CHECK(bench.fabric.open(0) == nullptr);
  bench.fabric.portUp(0);
  bench.fabric.takeover(9);
  bench.advance(0ms);
  CHECK_EQ(bench.a().events.size(), 1u);
  CHECK_EQ(bench.fabric.ports().size(), 1u);
  CHECK_EQ(bench.fabric.ports()[0].device, std::string("embedded1"));
  CHECK_EQ(bench.fabric.findPort("embedded0", 1), -1);
  CHECK_EQ(bench.fabric.findPort("embedded1", 1), 1);
  CHECK_EQ(bench.fabric.findPort("embedded1", 2), -1);
}

TEST("embedded port: ports that do not exist are left alone") {
  Bench bench;
  for (int port : {-1, 2, 1000}) {
    bench.fabric.portDown(port);
    bench.fabric.portUp(port);
    bench.fabric.changeLid(port, 5);
    bench.fabric.changeGid(port, group(1));
    bench.fabric.setPkeys(port, {});
    bench.fabric.setPortLimits(port, 1, 2);
    bench.fabric.clientReregister(port);
    bench.fabric.removeDevice(port);
    CHECK(bench.fabric.open(port) == nullptr);
  }
  CHECK_EQ(bench.a().create(group(1)), kSaOk);
}

TEST("embedded port: events keep their order, each with the state after it") {
  Bench bench;
  bench.fabric.changeLid(0, 10);
  bench.fabric.takeover(20);
  bench.fabric.portDown(0);
  bench.fabric.portUp(0);
  CHECK_EQ(bench.a().port().lid, 2);  // nothing has been polled yet
  bench.advance(0ms);
  const auto& states = bench.a().statesAtEvents;
  CHECK_EQ(states.size(), 4u);
  CHECK_EQ(states[0].lid, 10);
  CHECK_EQ(states[0].smLid, 1);
  CHECK_EQ(states[1].smLid, 20);
  CHECK(states[1].active() && !states[2].active() && states[3].active());
}

TEST("embedded transport: watch refreshes the port, stop ends everything") {
  Bench bench;
  bench.fabric.changeLid(0, 10);
  bench.a().transport().watch(true);
  CHECK_EQ(bench.a().port().lid, 10);
  bench.a().send(getOf(bench.a(), group(1)));
  bench.a().transport().stop();
  bench.a().transport().stop();
  bench.advance(1s);
  CHECK_EQ(bench.a().answers.size(), 0u);
  CHECK_EQ(bench.a().events.size(), 0u);
  CHECK_EQ(bench.a().send(getOf(bench.a(), group(1))), kEIO);
  CHECK_EQ(bench.fabric.counters().outstanding, 0u);
}

TEST("embedded transport: outlives its fabric") {
  std::unique_ptr<MadTransport> transport;
  {
    Fabric fabric;
    transport = fabric.open(0);
  }
  CHECK_EQ(transport->send(MadBytes{}, 1, 0, 1s), kENODEV);
  transport->watch(true);
  CHECK(!transport->port().active());
  transport->stop();
}

TEST("embedded fabric: the same seed gives the same run") {
  auto run = [](uint64_t seed) {
    FabricOptions options;
    options.seed = seed;
    options.delay = 1ms;
    options.serviceRate = 2000;
    Bench bench(options);
    bench.fabric.setLoss(0.1, 0.1);
    bench.fabric.setDuplication(0.2);
    bench.fabric.setReordering(0.3, 5ms);
    for (uint32_t i = 0; i < 200; ++i) {
      bench.clients[i % 2]->send(createOf(*bench.clients[i % 2], group(i % 40)));
      bench.advance(Duration{i % 7 * 100});
    }
    bench.advance(1s);
    std::vector<int64_t> trace;
    for (const auto& client : bench.clients) {
      for (size_t i = 0; i < client->answers.size(); ++i) {
        trace.push_back(static_cast<int64_t>(client->answers[i].mad.transactionId));
        trace.push_back(client->arrivals[i].time_since_epoch().count());
      }
    }
    CHECK_EQ(bench.fabric.counters().outstanding, 0u);
    return trace;
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST("embedded fabric: a late run gives what a punctual one does") {
  auto times = [](bool late) {
    FabricOptions options;
    options.delay = 3ms;
    options.serviceRate = 100;
    Fabric fabric(options);
    ManualDriver driver;
    Client client(fabric, driver, 0);
    for (uint32_t i = 0; i < 10; ++i) client.send(createOf(client, group(i)));
    Instant now{Duration{0}};
    fabric.run(now);
    if (late) {
      fabric.run(now + 1s);
    } else {
      for (Instant next = fabric.run(now); next != kNever; next = fabric.run(next)) now = next;
      CHECK(now + 0us <= Instant{Duration{106ms}});
    }
    driver.advance(0ms);
    std::vector<uint16_t> mlids;
    for (const Answer& answer : client.answers) mlids.push_back(answer.record().mlid);
    CHECK_EQ(mlids.size(), 10u);
    return mlids;
  };
  CHECK(times(false) == times(true));
}
