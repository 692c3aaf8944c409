// The umad transport against whatever libibumad finds, without an SA client: on a simulated fabric
// (npm run fabric) this is its end-to-end check.
//
//   umad-probe devices            lists ports
//   umad-probe join               one Set and one Delete, each answered
//   umad-probe abandon <count>    that many Sets, then stop() without waiting for answers
//   umad-probe watch <ms>         prints port events as they come

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "umad/umad_transport.h"

namespace {

using namespace rxib;

/** The thread of the probe plays the I/O thread; a wake ends its wait. */
class Bell final : public Waker {
 public:
  void wake() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      rung_ = true;
    }
    condition_.notify_one();
  }
  void wait(Instant limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait_until(lock, limit, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool rung_ = false;
};

struct Printer final : MadTransport::Listener {
  explicit Printer(const MadTransport& opened) : transport(opened) {}
  void onMad(const ReceivedMad& mad) override {
    codec::SaMad answer;
    McMemberRecord record;
    if (!codec::unpackSaMad(mad.bytes.data(), mad.bytes.size(), answer)) {
      std::printf("mad of %zu bytes\n", mad.bytes.size());
      return;
    }
    codec::unpackMcMemberRecord(answer.data.data(), answer.data.size(), record);
    std::printf("answer method 0x%02x status 0x%04x mlid 0x%04x from lid %u tid 0x%08x\n",
                answer.method, answer.status, record.mlid, mad.sourceLid,
                static_cast<uint32_t>(answer.transactionId));
    ++answers;
    status = answer.status;
    mlid = record.mlid;
  }
  void onPortEvent(const PortEvent& event) override {
    const PortState& port = transport.port();
    std::printf("event reason %d phase %d lid %u sm %u pkeys %zu before %zu\n",
                static_cast<int>(event.reason), static_cast<int>(port.phase), port.lid, port.smLid,
                port.pkeys.size(), event.pkeysBefore.size());
    std::fflush(stdout);
  }

  const MadTransport& transport;
  int answers = 0;
  uint16_t status = 0;
  uint16_t mlid = 0;
};

codec::MadBytes request(codec::SaMethod method, uint32_t transactionId, const Gid& portGid,
                        uint32_t group) {
  McMemberRecord record;
  const uint8_t prefix[16] = {0xff, 0x12, 0xca, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0};
  std::memcpy(record.mgid.bytes.data(), prefix, 16);
  record.mgid.bytes[13] = static_cast<uint8_t>(group >> 16);
  record.mgid.bytes[14] = static_cast<uint8_t>(group >> 8);
  record.mgid.bytes[15] = static_cast<uint8_t>(group);
  record.portGid = portGid;
  record.qkey = 0xb1b;
  record.pkey = 0xffff;
  record.joinState = kFullMember;
  codec::SaMad mad;
  mad.method = static_cast<uint8_t>(method);
  mad.transactionId = transactionId;
  mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord);
  mad.componentMask =
      method == codec::SaMethod::kDelete
          ? bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kJoinState)
          : kMcCreationComponents;
  codec::packMcMemberRecord(record, mad.data.data());
  codec::MadBytes bytes;
  codec::packSaMad(mad, bytes);
  return bytes;
}

int devices() {
  const umad::Discovery found = umad::discover();
  if (found.status != kOk) {
    std::printf("%d %s\n", found.status, found.message.c_str());
    return 1;
  }
  for (const PortInfo& info : found.ports) {
    std::printf("%s port %u phase %d link layer %d lid %u sm %u pkeys %zu\n", info.device.c_str(),
                info.port, static_cast<int>(info.state.phase),
                static_cast<int>(info.state.linkLayer), info.state.lid, info.state.smLid,
                info.state.pkeys.size());
  }
  return 0;
}

void runUntil(MadTransport& transport, Bell& bell, Printer& printer, Instant limit, int answers) {
  for (Instant now = steadyNow(); now < limit && (answers == 0 || printer.answers < answers);
       now = steadyNow()) {
    const Instant next = transport.poll(now, printer);
    bell.wait(std::min(next, limit));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (verb == "devices") return devices();
  const umad::Discovery discovery = umad::discover();
  if (discovery.ports.empty()) {
    std::printf("%d no port: %s\n", discovery.status, discovery.message.c_str());
    return 1;
  }
  const PortInfo& first = discovery.ports.front();
  umad::Opened opened = umad::open(first.device, first.port, {});
  if (opened.transport == nullptr) {
    std::printf("%d %s\n", opened.status, opened.message.c_str());
    return 1;
  }
  MadTransport& transport = *opened.transport;
  Bell bell;
  Printer printer(transport);
  transport.start(bell);
  transport.watch(true);
  const PortState port = transport.port();
  const auto firstTid = static_cast<uint32_t>(std::random_device{}());
  auto ask = [&](codec::SaMethod method, uint32_t group) {
    return transport.send(
        request(method, firstTid + group * 2 + (method == codec::SaMethod::kSet), port.gid, group),
        port.smLid, port.smSl, std::chrono::seconds{1});
  };
  int result = 0;
  if (verb == "join") {
    const Instant limit = after(steadyNow(), std::chrono::seconds{3});
    if (ask(codec::SaMethod::kSet, 1) != kOk) result = 1;
    runUntil(transport, bell, printer, limit, 1);
    if (printer.answers != 1 || printer.status != 0 || printer.mlid < 0xc000) result = 1;
    if (ask(codec::SaMethod::kDelete, 1) != kOk) result = 1;
    runUntil(transport, bell, printer, limit, 2);
    if (printer.answers != 2 || printer.status != 0) result = 1;
  } else if (verb == "abandon") {
    for (int i = 0; i < number; ++i) {
      if (ask(codec::SaMethod::kSet, static_cast<uint32_t>(i)) != kOk) result = 1;
    }
  } else if (verb == "watch") {
    runUntil(transport, bell, printer, after(steadyNow(), std::chrono::milliseconds{number}), 0);
  } else {
    std::fprintf(stderr, "usage: umad-probe devices | join | abandon <count> | watch <ms>\n");
    result = 2;
  }
  transport.stop();
  std::printf("stopped, result %d\n", result);
  return result;
}
