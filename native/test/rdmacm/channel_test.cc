#include "rdmacm/channel.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "rdma/sysfs_ports.h"
#include "rdmacm/world.h"

namespace rxib::test {
namespace {

constexpr auto kLimit = std::chrono::seconds{10};

class Inbox final : public CompletionSink {
 public:
  void complete(Completion completion) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      completions_.push_back(std::move(completion));
    }
    changed_.notify_all();
  }
  void diagnose(const Diagnostic&) override { ++diagnostics; }
  void settled() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++settlements_;
    }
    changed_.notify_all();
  }

  std::vector<Completion> wait(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    CHECK(changed_.wait_for(lock, kLimit, [&] { return completions_.size() >= count; }));
    return completions_;
  }

  bool waitSettlement() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kLimit, [&] { return settlements_ > 0; });
  }

  std::atomic<int> diagnostics{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Completion> completions_;
  int settlements_ = 0;
};

struct ChannelWorld {
  ChannelWorld() {
    fake.addDevice("rxe0", LinkLayer::kEthernet, {"10.0.0.1"});
    rdmacm::Options options;
    options.device = "rxe0";
    auto opened = rdmacm::Channel::open(fake.system(), options);
    CHECK(opened.channel != nullptr);
    channel = std::move(opened.channel);
    channel->attach(inbox);
  }
  void join(HandleId id, const std::string& group) {
    JoinSpec spec;
    spec.group = ipGroup(group);
    spec.record.joinState = kFullMember;
    channel->join(id, spec, inbox.get());
  }
  void finish() {
    channel.reset();
    for (const std::string& violation : fake.violations()) throw Failure(violation);
    CHECK_EQ(fake.identifiers(), size_t{0});
    CHECK_EQ(fake.channels(), size_t{0});
  }

  StrictFakeRdmaCm fake;
  std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
  std::unique_ptr<rdmacm::Channel> channel;
};

TEST("rdmacm: the channel joins, leaves and settles on its own thread") {
  ChannelWorld world;
  for (HandleId id = 1; id <= 50; ++id) {
    world.join(id, "239.1.0." + std::to_string(id));
  }
  CHECK_EQ(world.channel->stats().joinsStarted.get(), 50u);
  CHECK_EQ(world.inbox->wait(50).size(), size_t{50});
  for (HandleId id = 1; id <= 50; ++id) world.channel->free(id);
  CHECK_EQ(world.channel->stats().handlesAlive.get(), 0u);
  CHECK(world.channel->waitSettled(kLimit));
  CHECK(!world.channel->unsettled());
  CHECK(world.fake.members().empty());
  CHECK(world.inbox->waitSettlement());
  world.channel->free(7);
  CHECK(world.channel->waitSettled(kLimit));
  CHECK_EQ(world.channel->stats().handlesFreed.get(), 50u);
  CHECK_EQ(world.channel->stats().handlesAlive.get(), 0u);
  world.finish();
}

TEST("rdmacm: an event wakes the channel") {
  ChannelWorld world;
  world.join(1, "239.1.0.1");
  world.inbox->wait(1);
  world.fake.lose(ipGroup("239.1.0.1"), -5);
  CHECK_EQ(world.inbox->wait(2)[1].status, int{kENETRESET});
  world.fake.report(rdma::PortReport::kPortError);
  for (int i = 0; i < 1000 && world.inbox->diagnostics == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  CHECK_EQ(world.inbox->diagnostics.load(), 1);
  world.join(2, "239.1.0.2");
  world.inbox->wait(3);
  world.fake.removeDevice("rxe0");
  CHECK(world.inbox->wait(4)[3].reason == ResetReason::kDeviceRemoved);
  world.join(3, "239.1.0.3");
  CHECK_EQ(world.inbox->wait(5)[4].status, int{kENODEV});
  CHECK(world.channel->removed());
  CHECK(world.fake.released("rxe0"));
  world.finish();
}

TEST("rdmacm: stopping leaves what is joined, and waits for nobody") {
  ChannelWorld world;
  world.join(1, "239.1.0.1");
  world.inbox->wait(1);
  world.channel->stop();
  world.channel->stop();
  CHECK(world.fake.members().empty());
  // Nobody will come to it any more.
  world.channel->free(1);
  CHECK(!world.channel->waitSettled(kLimit));
  world.finish();
}

TEST("rdmacm: leaveAll and detach free everything") {
  ChannelWorld world;
  auto other = std::make_shared<Inbox>();
  world.channel->attach(other);
  world.join(1, "239.1.0.1");
  JoinSpec spec;
  spec.group = ipGroup("239.1.0.2");
  spec.record.joinState = kFullMember;
  world.channel->join(2, spec, other.get());
  other->wait(1);
  world.channel->detach(other);
  CHECK(world.channel->waitSettled(kLimit));
  CHECK_EQ(world.fake.members().size(), size_t{1});
  world.channel->leaveAll();
  CHECK(world.channel->waitSettled(kLimit));
  CHECK(world.fake.members().empty());
  CHECK_EQ(world.channel->stats().handlesAlive.get(), 0u);
  world.finish();
}

TEST("rdmacm: addresses are values") {
  using rdmacm::SocketAddress;
  CHECK_EQ(SocketAddress::parse("239.1.2.3")->text(), std::string("239.1.2.3"));
  CHECK_EQ(SocketAddress::parse("ff05::1")->text(), std::string("ff05::1"));
  CHECK(!SocketAddress::parse("mlx5_0").has_value());
  CHECK(!SocketAddress::parse("").has_value());
  const Gid mapped = SocketAddress::parse("10.0.0.1")->asGid();
  CHECK_EQ(mapped.bytes[10], 0xff);
  CHECK_EQ(mapped.bytes[12], 10);
  CHECK(SocketAddress::ip(mapped) == *SocketAddress::parse("10.0.0.1"));
  CHECK(SocketAddress::infiniBand(mapped, 1).asGid().isZero());
  CHECK(!SocketAddress::infiniBand(mapped, 1).isIp());
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text << "\n"; }

TEST("rdma: ports as sysfs lists them") {
  char root[] = "/tmp/rxib-sysfs-XXXXXX";
  CHECK(mkdtemp(root) != nullptr);
  const std::string base = root;
  CHECK(rdma::sysfsPorts(base + "/nowhere").empty());
  for (const char* folder : {"/mlx5_0", "/mlx5_0/ports", "/mlx5_0/ports/1", "/mlx5_0/ports/1/gids",
                             "/mlx5_0/ports/1/pkeys"}) {
    mkdir((base + folder).c_str(), 0700);
  }
  const std::string port = base + "/mlx5_0/ports/1";
  put(port + "/state", "4: ACTIVE");
  put(port + "/link_layer", "InfiniBand");
  put(port + "/lid", "0x11");
  put(port + "/sm_lid", "0x1");
  put(port + "/sm_sl", "3");
  put(port + "/gids/0", "fe80:0000:0000:0000:0002:c903:0000:0001");
  put(port + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  put(port + "/pkeys/0", "0xffff");
  put(port + "/pkeys/1", "0x8001");
  const std::vector<PortInfo> ports = rdma::sysfsPorts(base);
  CHECK_EQ(ports.size(), size_t{1});
  CHECK_EQ(ports[0].device, std::string("mlx5_0"));
  CHECK_EQ(ports[0].port, 1);
  CHECK(ports[0].state.active());
  CHECK(ports[0].state.linkLayer == LinkLayer::kInfiniBand);
  CHECK_EQ(ports[0].state.lid, 0x11);
  CHECK_EQ(ports[0].state.smLid, 1);
  CHECK_EQ(ports[0].state.smSl, 3);
  CHECK_EQ(ports[0].state.gid.bytes[9], 0x02);
  CHECK_EQ(ports[0].state.pkeys.size(), size_t{2});
  CHECK_EQ(ports[0].state.pkeys[1], 0x8001);
  CHECK(rdma::sysfsGid("mlx5_0", 1, 0, base).has_value());
  CHECK(!rdma::sysfsGid("mlx5_0", 1, 1, base).has_value());
  CHECK(!rdma::sysfsGid("mlx5_0", 1, 2, base).has_value());

  // Of a table, the last entry ends it; one that has only a prefix is empty.
  put(port + "/gids/2", "fe80:0000:0000:0000:0000:0000:0000:0000");
  put(port + "/gids/3", "fe80:0000:0000:0000:0002:c903:0000:0009");
  put(port + "/gids/4", "fe80:0000:0000:0000:0000:0000:0000:0000");
  const std::vector<Gid> table = rdma::sysfsGids("mlx5_0", 1, base);
  CHECK_EQ(table.size(), size_t{4});
  CHECK(table[0] == ports[0].state.gid);
  CHECK(table[1].isZero());
  CHECK(table[2].isZero());
  CHECK_EQ(table[3].bytes[15], 9);
  CHECK(rdma::sysfsGids("mlx5_0", 2, base).empty());
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace rxib::test
