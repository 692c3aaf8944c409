#include "rdmacm/client.h"

#include <cerrno>
#include <random>

#include "few_descriptors.h"
#include "rdmacm/world.h"

namespace rxib::test {
namespace {

using rdma::PortReport;

TEST("rdmacm: a join by IPv4 group on RoCE") {
  CmWorld world;
  const HandleId id = world.join("239.1.2.3");
  CHECK(world.sink.completions.empty());
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{1});
  const Completion& completion = world.latest();
  CHECK_EQ(completion.handle, id);
  CHECK_EQ(completion.status, 0);
  CHECK(completion.record.has_value());
  CHECK(completion.record->mgid == ipGroup("239.1.2.3"));
  CHECK_EQ(completion.record->mlid, 0);
  CHECK_EQ(completion.record->qkey, 0x01234567u);
  CHECK_EQ(completion.record->pkey, 0xffff);
  CHECK_EQ(completion.record->sl, 2);
  CHECK_EQ(completion.record->flowLabel, 5u);
  CHECK_EQ(completion.record->hopLimit, 64);
  CHECK_EQ(completion.record->trafficClass, 6);
  CHECK_EQ(completion.record->joinState, int{kFullMember});
  CHECK_EQ(completion.record->portGid.bytes[15], 3);
  CHECK(completion.addressHandle.has_value());
  CHECK_EQ(completion.addressHandle->sgidIndex, 3);
  CHECK_EQ(completion.addressHandle->port, 1);
  CHECK_EQ(world.fake.members().size(), size_t{1});
  CHECK_EQ(world.fake.members()[0].portSpace, int{rdma::abi::kCmPortSpaceUdp});
  CHECK(world.free(id));
  CHECK(!world.client->free(id));
  CHECK(world.fake.members().empty());
  CHECK_EQ(world.stats.joined.get(), 1u);
  CHECK_EQ(world.stats.joinsSent.get(), 1u);
  CHECK_EQ(world.stats.leavesSent.get(), 1u);
  CHECK_EQ(world.stats.leavesFailed.get(), 0u);
  CHECK_EQ(world.stats.groups.get(), 0u);
  world.finish();
}

TEST("rdmacm: an InfiniBand record has its MLID, rate and the interface's P_Key") {
  CmWorld world(LinkLayer::kInfiniBand, {"10.0.0.1"}, 0x8001);
  rdmacm::Options options;
  options.portSpace = rdma::abi::kCmPortSpaceIpoib;
  world.open(options);
  world.member("239.1.2.3");
  CHECK_EQ(world.latest().record->mlid, 0xc007);
  CHECK_EQ(world.latest().record->pkey, 0x8001);
  CHECK_EQ(world.latest().record->rate, 3);
  CHECK_EQ(world.fake.members()[0].portSpace, int{rdma::abi::kCmPortSpaceIpoib});
  world.finish();
}

TEST("rdmacm: one group twice is two memberships, each left by its own") {
  CmWorld world;
  const HandleId one = world.member("239.1.2.3");
  const HandleId two = world.member("239.1.2.3");
  CHECK_EQ(world.fake.members().size(), size_t{2});
  world.free(one);
  CHECK_EQ(world.fake.members().size(), size_t{1});
  world.fake.lose(ipGroup("239.1.2.3"), 0);
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{3});
  CHECK_EQ(world.latest().handle, two);
  world.finish();
}

TEST("rdmacm: freed before the join event was read, the event never comes") {
  CmWorld world;
  const HandleId id = world.join("239.1.2.3");
  world.free(id);
  world.run();
  CHECK(world.sink.completions.empty());
  CHECK_EQ(world.stats.leavesSent.get(), 1u);
  CHECK_EQ(world.stats.leavesFailed.get(), 0u);
  world.finish();
}

TEST("rdmacm: freed while the join is under way") {
  CmWorld world;
  world.fake.holdAnswers();
  const HandleId id = world.join("239.1.2.3");
  world.run();
  world.free(id);
  world.fake.answerAll();
  world.run();
  CHECK(world.sink.completions.empty());
  world.finish();
}

TEST("rdmacm: MULTICAST_ERROR before the join is an error, and says why or EIO") {
  struct Expected {
    int raw;
    int status;
    bool cause;
  };
  for (const Expected& expected :
       {Expected{0, kEIO, true}, Expected{-1, kEIO, true}, Expected{-110, kETIMEDOUT, false},
        Expected{-22, kEINVAL, false}, Expected{-524, -524, false},
        Expected{-102, kENETRESET, false}}) {
    CmWorld world;
    world.fake.refuseJoins(expected.raw);
    world.join("239.1.2.3");
    world.run();
    CHECK_EQ(world.sink.completions.size(), size_t{1});
    CHECK_EQ(world.latest().status, expected.status);
    CHECK_EQ(world.latest().cause.has_value(), expected.cause);
    if (expected.cause) CHECK_EQ(*world.latest().cause, expected.raw);
    CHECK_EQ(world.stats.failed.get(), 1u);
    // Only the guard is left: a failed join keeps nothing, though nobody has freed it yet.
    CHECK_EQ(world.fake.identifiers(), size_t{1});
    world.free(world.last);
    CHECK_EQ(world.stats.leavesSent.get(), 0u);
    world.finish();
  }
}

TEST("rdmacm: MULTICAST_ERROR after the join is a reset with the raw value") {
  for (int raw : {0, -1, -101, 7}) {
    CmWorld world;
    const HandleId id = world.member("239.1.2.3");
    world.fake.lose(ipGroup("239.1.2.3"), raw);
    world.run();
    CHECK_EQ(world.latest().handle, id);
    CHECK_EQ(world.latest().status, int{kENETRESET});
    CHECK(world.latest().reason == ResetReason::kGroupError);
    CHECK_EQ(*world.latest().cause, raw);
    CHECK_EQ(world.stats.resets.get(), 1u);
    CHECK_EQ(world.stats.failed.get(), 0u);
    world.free(id);
    world.finish();
  }
}

TEST("rdmacm: what the library refuses at once survives as it is") {
  struct Expected {
    int error;
    int status;
  };
  for (const Expected& expected :
       {Expected{524, -524}, Expected{EINVAL, kEINVAL}, Expected{ENXIO, kENODEV},
        Expected{ENETUNREACH, kENETUNREACH}, Expected{ENOMEM, kENOMEM}}) {
    CmWorld world;
    world.start();
    world.fake.failJoins(expected.error);
    world.join("239.1.2.3");
    CHECK_EQ(world.latest().status, expected.status);
    CHECK_EQ(world.stats.joinsSent.get(), 0u);
    world.finish();
  }
}

TEST("rdmacm: an IPv6 group needs an IPv6 address, and RoCE v2 over IPv4 refuses it all the same") {
  CmWorld world;
  world.join("ff05::1");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.fake.addAddress("rxe0", "fd00::1");
  world.join("ff05::1");
  CHECK_EQ(world.latest().status, -524);
  world.finish();
}

TEST("rdmacm: addresses that come and go") {
  CmWorld world(LinkLayer::kEthernet, {});
  world.join("239.1.2.3");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.fake.addAddress("rxe0", "10.0.0.7");
  world.member("239.1.2.3");
  CHECK_EQ(world.fake.members()[0].source, std::string("10.0.0.7"));
  // Gone while joined: the membership stands, and the kernel says nothing.
  world.fake.flushAddresses("rxe0");
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{2});
  world.join("239.1.2.4");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.fake.addAddress("rxe0", "10.0.0.8");
  world.member("239.1.2.4");
  CHECK_EQ(world.fake.members()[1].source, std::string("10.0.0.8"));
  world.finish();
}

TEST("rdmacm: an address that goes between bind and join: MULTICAST_ERROR with status 0") {
  CmWorld world;
  world.start();
  world.fake.flushAfterBind("rxe0");
  world.join("239.1.2.3");
  world.run();
  CHECK_EQ(world.latest().status, int{kEIO});
  CHECK_EQ(*world.latest().cause, 0);
  world.finish();
}

TEST("rdmacm: a device that was renamed is no longer there by its old name; its members stay") {
  CmWorld world;
  world.member("239.1.2.3");
  world.fake.renameDevice("rxe0", "rxe7");
  world.join("239.1.2.4");
  CHECK_EQ(world.latest().status, int{kENODEV});
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{2});
  CHECK_EQ(world.fake.members().size(), size_t{1});
  rdmacm::Options options;
  options.device = "rxe0";
  rdmacm::Client late(world.fake.system(), options, world.stats);
  const rdmacm::Verdict verdict = late.open();
  CHECK_EQ(verdict.status, int{kENODEV});
  CHECK(verdict.message.find("there are: rxe7 port 1") != std::string::npos);
  world.finish();
}

TEST("rdmacm: without descriptors nothing is opened, and a join may be tried again") {
  CmWorld world;
  world.open();
  world.fake.flushAddresses("rxe0");
  rdmacm::Options options;
  options.device = "rxe1";
  rdmacm::Client none(world.fake.system(), options, world.stats);
  {
    FewDescriptors few;
    world.join("239.1.2.3");
    CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
    const rdmacm::Verdict verdict = none.open();
    CHECK_EQ(verdict.status, int{kEMFILE});
    CHECK(verdict.message.find("ulimit -n") != std::string::npos);
  }
  CHECK_EQ(none.open().status, int{kENODEV});
  world.fake.addAddress("rxe0", "10.0.0.1");
  world.member("239.1.2.3");
  world.finish();
}

TEST("rdmacm: an explicit source address is the only one used") {
  CmWorld world(LinkLayer::kEthernet, {"10.0.0.1", "10.0.0.2"});
  rdmacm::Options options;
  options.source = rdmacm::SocketAddress::parse("10.0.0.2");
  world.open(options);
  world.member("239.1.2.3");
  CHECK_EQ(world.fake.members()[0].source, std::string("10.0.0.2"));
  world.fake.flushAddresses("rxe0");
  world.fake.addAddress("rxe0", "10.0.0.1");
  world.join("239.1.2.4");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.finish();
}

TEST("rdmacm: a link-local source address is bound with its interface, named or not") {
  for (const char* source : {"fe80::7", "fe80::7%lo"}) {
    CmWorld world(LinkLayer::kInfiniBand, {"fe80::7%lo"});
    rdmacm::Options options;
    options.source = rdmacm::SocketAddress::parse(source);
    world.open(options);
    world.member("ff05::1");
    world.finish();
  }
}

TEST("rdmacm: an address of another device is none of this port") {
  CmWorld world;
  world.fake.addDevice("rxe1", LinkLayer::kEthernet, {"10.0.0.9"});
  rdmacm::Options options;
  options.source = rdmacm::SocketAddress::parse("10.0.0.9");
  world.open(options);
  world.join("239.1.2.3");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.finish();
}

TEST("rdmacm: a send-only full member takes the extended join, which an old library has not") {
  CmWorld world;
  world.join("239.1.2.3", kSendOnlyFullMember);
  world.run();
  CHECK_EQ(world.latest().status, 0);
  CHECK_EQ(world.latest().record->joinState, int{kSendOnlyFullMember});
  CHECK(world.fake.members()[0].sendOnly);
  world.finish();

  CmWorld old;
  old.fake.withoutExtendedJoin();
  old.join("239.1.2.3", kSendOnlyFullMember);
  CHECK_EQ(old.latest().status, int{kEOPNOTSUPP});
  old.member("239.1.2.3");
  old.finish();
}

TEST("rdmacm: an MGID is joined as such on InfiniBand, and refused on Ethernet") {
  Gid mgid;
  mgid.bytes[0] = 0xff;
  mgid.bytes[1] = 0x12;
  mgid.bytes[15] = 9;
  CmWorld world(LinkLayer::kInfiniBand);
  world.joinMgid(mgid);
  world.run();
  CHECK_EQ(world.latest().status, 0);
  CHECK(world.latest().record->mgid == mgid);
  CHECK_EQ(world.latest().record->scope, 2);
  CHECK(world.fake.members()[0].byMgid);
  // MGID 0: what is reported is what was assigned.
  world.fake.assign(mgid);
  world.joinMgid(Gid{});
  world.run();
  CHECK_EQ(world.latest().status, 0);
  CHECK(world.latest().record->mgid == mgid);
  world.finish();

  CmWorld ethernet;
  ethernet.joinMgid(mgid);
  CHECK_EQ(ethernet.latest().status, int{kEOPNOTSUPP});
  ethernet.finish();
}

TEST("rdmacm: an InfiniBand port without IP addresses is reached through its GID") {
  CmWorld world(LinkLayer::kInfiniBand, {});
  Gid mgid;
  mgid.bytes[0] = 0xff;
  mgid.bytes[15] = 9;
  world.joinMgid(mgid);
  world.run();
  CHECK_EQ(world.latest().status, 0);
  world.join("239.1.2.3");
  CHECK_EQ(world.latest().status, int{kEADDRNOTAVAIL});
  world.finish();
}

TEST("rdmacm: a removed device resets everybody and is let go of at once") {
  CmWorld world;
  world.member("239.1.2.3");
  world.member("239.1.2.4");
  world.fake.holdAnswers();
  world.join("239.1.2.5");
  const size_t before = world.sink.completions.size();
  world.fake.removeDevice("rxe0");
  CHECK(!world.fake.released("rxe0"));
  world.run();
  CHECK_EQ(world.sink.completions.size(), before + 3);
  for (size_t i = before; i < before + 3; ++i) {
    CHECK_EQ(world.sink.completions[i].status, int{kENETRESET});
    CHECK(world.sink.completions[i].reason == ResetReason::kDeviceRemoved);
  }
  // Nobody has freed anything yet, and still the removal can complete.
  CHECK(world.fake.released("rxe0"));
  CHECK(world.client->removed());
  CHECK(!world.fake.watched());
  world.run();
  CHECK_EQ(world.sink.completions.size(), before + 3);
  world.join("239.1.2.6");
  CHECK_EQ(world.latest().status, int{kENODEV});
  for (HandleId id = 1; id <= 4; ++id) CHECK(world.free(id));
  CHECK_EQ(world.stats.leavesSent.get(), 0u);
  CHECK_EQ(world.stats.groups.get(), 0u);
  CHECK_EQ(world.stats.resets.get(), 3u);
  CHECK_EQ(world.stats.failed.get(), 2u);
  world.finish();
}

TEST("rdmacm: a removed device is noticed and let go of when nobody is a member") {
  CmWorld world;
  world.start();
  world.fake.removeDevice("rxe0");
  world.run();
  CHECK(world.client->removed());
  CHECK(world.fake.released("rxe0"));
  CHECK(world.sink.completions.empty());
  CHECK_EQ(world.sink.diagnostics.size(), 1u);
  CHECK(world.sink.diagnostics[0].kind == DiagnosticKind::kPortEvent);
  CHECK(world.sink.diagnostics[0].reason == ResetReason::kDeviceRemoved);
  world.finish();
}

TEST("rdmacm: a changed address resets with that reason, and the next join works") {
  CmWorld world;
  const HandleId id = world.member("239.1.2.3");
  world.fake.changeAddress("rxe0");
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{2});
  CHECK_EQ(world.latest().handle, id);
  CHECK_EQ(world.latest().status, int{kENETRESET});
  CHECK(world.latest().reason == ResetReason::kAddressChange);
  world.free(id);
  world.member("239.1.2.3");
  // The guard stands again: the removal is noticed.
  world.free(world.last);
  world.fake.removeDevice("rxe0");
  world.run();
  CHECK(world.client->removed());
  world.finish();
}

TEST("rdmacm: port events are diagnostics and reset nobody") {
  CmWorld world;
  world.member("239.1.2.3");
  for (PortReport report : {PortReport::kPortError, PortReport::kPortActive, PortReport::kGidChange,
                            PortReport::kPkeyChange, PortReport::kLidChange, PortReport::kSmChange,
                            PortReport::kClientReregister}) {
    world.fake.report(report);
  }
  world.run();
  CHECK_EQ(world.sink.completions.size(), size_t{1});
  CHECK_EQ(world.sink.diagnostics.size(), size_t{7});
  CHECK(world.sink.diagnostics[0].kind == DiagnosticKind::kPortEvent);
  CHECK(world.sink.diagnostics[0].reason == ResetReason::kPortError);
  CHECK(world.sink.diagnostics[1].reason == ResetReason::kNone);
  CHECK(world.sink.diagnostics[2].reason == ResetReason::kGidChange);
  CHECK_EQ(world.stats.portEvents.get(), 7u);
  CHECK(world.fake.watched());
  // The listener would stand in the way of the device's removal.
  world.fake.report(PortReport::kDeviceFatal);
  world.run();
  CHECK(!world.fake.watched());
  CHECK_EQ(world.sink.completions.size(), size_t{1});
  world.finish();
}

TEST("rdmacm: a leave that fails is counted and told, and keeps nothing") {
  CmWorld world;
  const HandleId id = world.member("239.1.2.3");
  world.fake.failLeaves(EADDRNOTAVAIL);
  world.free(id);
  CHECK_EQ(world.stats.leavesFailed.get(), 1u);
  CHECK_EQ(world.sink.diagnostics.size(), size_t{1});
  CHECK(world.sink.diagnostics[0].kind == DiagnosticKind::kLeaveFailed);
  CHECK(world.sink.diagnostics[0].mgid == ipGroup("239.1.2.3"));
  CHECK_EQ(world.sink.diagnostics[0].status, int{kEADDRNOTAVAIL});
  CHECK_EQ(world.stats.groups.get(), 0u);
  world.finish();
}

TEST("rdmacm: detaching frees what the sink holds, and nobody else's") {
  CmWorld world;
  Recorder other;
  world.member("239.1.2.3");
  world.client->attach(&other);
  JoinSpec spec;
  spec.group = ipGroup("239.1.2.4");
  spec.record.joinState = kFullMember;
  ++world.stats.handlesAlive;
  world.client->join(100, spec, &other);
  world.run();
  CHECK_EQ(world.fake.members().size(), size_t{2});
  world.client->detach(&world.sink);
  CHECK_EQ(world.fake.members().size(), size_t{1});
  CHECK(world.fake.members()[0].group == ipGroup("239.1.2.4"));
  CHECK_EQ(world.stats.handlesAlive.get(), 1u);
  world.fake.report(PortReport::kPortError);
  world.run();
  CHECK(world.sink.diagnostics.empty());
  CHECK_EQ(other.diagnostics.size(), size_t{1});
  world.finish();
}

TEST("rdmacm: a channel that cannot be made, or a port that is not there, says what to do") {
  StrictFakeRdmaCm fake;
  PortStats stats;
  auto open = [&](const char* device) {
    rdmacm::Options options;
    options.device = device;
    rdmacm::Client client(fake.system(), options, stats);
    return client.open();
  };
  CHECK_EQ(open("rxe0").status, int{kENODEV});
  CHECK(open("rxe0").message.find("there are: none") != std::string::npos);
  fake.addDevice("rxe0", LinkLayer::kEthernet, {});
  CHECK_EQ(open("rxe1").status, int{kENODEV});
  CHECK(open("rxe1").message.find("rxe0 port 1") != std::string::npos);
  fake.failChannel(ENODEV);
  CHECK_EQ(open("rxe0").status, int{kENODEV});
  CHECK(open("rxe0").message.find("modprobe rdma_ucm") != std::string::npos);
  fake.failChannel(EACCES);
  CHECK_EQ(open("rxe0").status, int{kEACCES});
  fake.failChannel(EMFILE);
  CHECK_EQ(open("rxe0").status, -EMFILE);
  CHECK(fake.violations().empty());
}

TEST("rdmacm: whatever happens in whatever order, nothing is left and nothing waits for ever") {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    CmWorld world;
    world.start();
    std::vector<HandleId> alive;
    bool removed = false;
    for (int step = 0; step < 200; ++step) {
      const std::string group = "239.0.0." + std::to_string(1 + random() % 8);
      switch (random() % 10) {
        case 0:
        case 1:
        case 2:
          alive.push_back(world.join(group));
          break;
        case 3:
        case 4:
          if (alive.empty()) break;
          std::swap(alive[random() % alive.size()], alive.back());
          CHECK(world.free(alive.back()));
          alive.pop_back();
          break;
        case 5:
          world.fake.lose(ipGroup(group), -static_cast<int>(random() % 130));
          break;
        case 6:
          world.fake.refuseJoins(-static_cast<int>(random() % 130));
          break;
        case 7:
          world.fake.acceptJoins();
          break;
        case 8:
          if (random() % 20 == 0) world.fake.changeAddress("rxe0");
          if (random() % 150 == 0 && !removed) {
            world.fake.removeDevice("rxe0");
            removed = true;
          }
          break;
        default:
          world.run();
      }
    }
    world.run();
    // Each handle gets at most one success and one failure, in this order.
    std::vector<int> ended(world.last + 1);
    for (const Completion& completion : world.sink.completions) {
      CHECK(!ended[completion.handle]);
      if (completion.status != 0) ended[completion.handle] = 1;
    }
    for (HandleId id : alive) CHECK(world.free(id));
    CHECK(world.fake.members().empty());
    CHECK_EQ(world.stats.groups.get(), 0u);
    CHECK_EQ(world.stats.handlesAlive.get(), 0u);
    CHECK_EQ(world.stats.leavesFailed.get(), 0u);
    world.finish();
    if (removed) CHECK(world.fake.released("rxe0"));
  }
}

}  // namespace
}  // namespace rxib::test
