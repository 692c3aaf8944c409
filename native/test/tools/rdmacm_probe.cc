// The rdmacm engine without Node, on whatever the kernel has: its check in the kernel lane.
//
//   rdmacm-probe ports                            what there is, and how it is reached
//   rdmacm-probe cycles <device> <group> <count>  joins and leaves, one after the other;
//   descriptors
//                                                 and memory before and after
//   rdmacm-probe many <address> <count>           as many groups on one identifier, and on one each

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "core/status.h"
#include "rdmacm/channel.h"

namespace {

using namespace rxib;
using Clock = std::chrono::steady_clock;

class Inbox final : public CompletionSink {
 public:
  void complete(Completion completion) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      completions_.push_back(completion);
    }
    condition_.notify_all();
  }
  void diagnose(const Diagnostic&) override {}
  void settled() override {}
  /** The status of the next completion; -1000 when there is none in time. */
  int next() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!condition_.wait_for(lock, std::chrono::seconds{10}, [&] { return !completions_.empty(); }))
      return -1000;
    const int status = completions_.front().status;
    completions_.pop_front();
    return status;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<Completion> completions_;
};

long residentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
  }
  return 0;
}

long descriptors() {
  long count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

double milliseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

Gid groupGid(const std::string& text) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Gid gid;
  if (std::sscanf(text.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d) != 4) std::exit(2);
  gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  gid.bytes[12] = static_cast<uint8_t>(a);
  gid.bytes[13] = static_cast<uint8_t>(b);
  gid.bytes[14] = static_cast<uint8_t>(c);
  gid.bytes[15] = static_cast<uint8_t>(d);
  return gid;
}

int ports() {
  rdmacm::Discovery found = rdmacm::discover();
  if (found.verdict.status != kOk) std::printf("%s\n", found.verdict.message.c_str());
  for (const rdmacm::ReachablePort& port : found.ports) {
    std::printf("%s port %d:", port.info.device.c_str(), port.info.port);
    for (const auto& address : port.addresses) std::printf(" %s", address.text().c_str());
    std::printf("\n");
  }
  return found.verdict.status == kOk ? 0 : 1;
}

int cycles(const std::string& device, const std::string& group, int count) {
  rdmacm::Options options;
  options.device = device;
  auto opened = rdmacm::Channel::open(options);
  if (opened.channel == nullptr) {
    std::printf("%s\n", opened.verdict.message.c_str());
    return 1;
  }
  auto inbox = std::make_shared<Inbox>();
  opened.channel->attach(inbox);
  JoinSpec spec;
  spec.group = groupGid(group);
  spec.record.joinState = kFullMember;
  HandleId handle = 0;
  auto cycle = [&] {
    opened.channel->join(++handle, spec, inbox.get());
    const int status = inbox->next();
    opened.channel->free(handle);
    return status == kOk && opened.channel->waitSettled(std::chrono::seconds{10});
  };
  // The first ones fill caches of the allocator and of the library.
  for (int i = 0; i < 100; ++i) {
    if (!cycle()) return 1;
  }
  const long filesBefore = descriptors();
  const long memoryBefore = residentKilobytes();
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (!cycle()) {
      std::printf("cycle %d failed\n", i);
      return 1;
    }
  }
  const double elapsed = milliseconds(start);
  const PortStats stats = opened.channel->stats();
  std::printf(
      "%d cycles in %.0f ms (%.3f ms each); descriptors %ld before, %ld after; resident %ld kB "
      "before, %ld kB after; handles alive %lu, groups %lu, leaves failed %lu\n",
      count, elapsed, elapsed / count, filesBefore, descriptors(), memoryBefore,
      residentKilobytes(), static_cast<unsigned long>(stats.handlesAlive.get()),
      static_cast<unsigned long>(stats.groups.get()),
      static_cast<unsigned long>(stats.leavesFailed.get()));
  const bool flat = descriptors() == filesBefore && residentKilobytes() <= memoryBefore + 512 &&
                    stats.handlesAlive == 0 && stats.groups == 0 && stats.leavesFailed == 0;
  return flat ? 0 : 1;
}

/** Straight on the library: the engine has decided for one of the two ways. */
int many(const std::string& source, int count) {
  rdmacm::System system;
  const rdmacm::Verdict verdict = rdmacm::thisSystem(system);
  auto address = rdmacm::SocketAddress::parse(source);
  if (verdict.status != kOk || !address) return 1;
  const rdma::RdmaCmLibrary& library = *system.library;
  auto groupOf = [](int i) {
    Gid gid = groupGid("239.9.0.0");
    gid.bytes[14] = static_cast<uint8_t>(i >> 8);
    gid.bytes[15] = static_cast<uint8_t>(i);
    return rdmacm::SocketAddress::ip(gid);
  };
  auto takeJoined = [&](rdma::abi::CmChannel* channel) {
    for (int i = 0; i < count; ++i) {
      rdma::abi::CmEvent* event = nullptr;
      if (library.getEvent(channel, &event) != 0) return false;
      const bool joined = event->type == rdma::abi::kCmMulticastJoin && event->status == 0;
      library.acknowledge(event);
      if (!joined) return false;
    }
    return true;
  };
  for (const bool separate : {false, true, false, true}) {
    rdma::abi::CmChannel* channel = library.createChannel();
    if (channel == nullptr) return 1;
    const size_t identifiers = separate ? static_cast<size_t>(count) : 1;
    std::vector<rdma::abi::CmId*> ids(identifiers);
    // Holds the device open in either case, as the engine's guard does.
    rdma::abi::CmId* guard = nullptr;
    if (library.createId(channel, &guard, nullptr, rdma::abi::kCmPortSpaceUdp) != 0 ||
        library.bindAddress(guard, address->raw()) != 0) {
      return 1;
    }
    const long memory = residentKilobytes();
    const long files = descriptors();
    const auto start = Clock::now();
    for (auto& id : ids) {
      if (library.createId(channel, &id, nullptr, rdma::abi::kCmPortSpaceUdp) != 0 ||
          library.bindAddress(id, address->raw()) != 0) {
        return 1;
      }
    }
    for (int i = 0; i < count; ++i) {
      if (library.joinMulticast(ids[separate ? static_cast<size_t>(i) : 0], groupOf(i).raw(),
                                nullptr) != 0) {
        return 1;
      }
    }
    if (!takeJoined(channel)) return 1;
    const double joined = milliseconds(start);
    const long memoryJoined = residentKilobytes();
    const long filesJoined = descriptors();
    const auto leaving = Clock::now();
    for (int i = 0; i < count; ++i) {
      if (library.leaveMulticast(ids[separate ? static_cast<size_t>(i) : 0], groupOf(i).raw()) !=
          0) {
        return 1;
      }
    }
    for (auto* id : ids) library.destroyId(id);
    std::printf(
        "%d groups on %zu identifiers: joined in %.1f ms, left in %.1f ms, %ld kB and %ld "
        "descriptors more\n",
        count, identifiers, joined, milliseconds(leaving), memoryJoined - memory,
        filesJoined - files);
    library.destroyId(guard);
    library.destroyChannel(channel);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "ports") return ports();
  if (verb == "cycles" && argc == 5) return cycles(argv[2], argv[3], std::atoi(argv[4]));
  if (verb == "many" && argc == 4) return many(argv[2], std::atoi(argv[3]));
  std::fprintf(stderr,
               "usage: rdmacm-probe ports | cycles <device> <group> <count> | many <address> "
               "<count>\n");
  return 2;
}
