// The embedded subnet administrator under arbitrary requests from two ports: it survives them,
// keeps account of each, and has no members left when both ports are gone.
#include "check.h"
#include "embedded/fabric.h"
#include "script_bytes.h"

using namespace rxib;

namespace {

class Deaf final : public MadTransport::Listener, public Waker {
 public:
  void onMad(const ReceivedMad& mad) override { CHECK_EQ(mad.bytes.size() >= 56, true); }
  void onPortEvent(const PortEvent&) override {}
  void wake() override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::ScriptBytes script(data, size);
  embedded::FabricOptions options;
  options.mlidPool = 8;
  embedded::Fabric fabric(options);
  Deaf deaf;
  std::unique_ptr<MadTransport> transports[2] = {fabric.open(0), fabric.open(1)};
  for (auto& transport : transports) transport->start(deaf);
  Instant now{Duration{0}};
  for (int i = 0; i < 64 && !script.empty(); ++i) {
    const size_t port = script.below(2);
    codec::SaMad mad;
    const uint8_t form = script.byte();
    constexpr uint8_t kMethods[] = {0x01, 0x02, 0x12, 0x15};
    constexpr uint16_t kAttributes[] = {0x01, 0x03, 0x31, 0x35, 0x38, 0x38, 0x38, 0x38};
    mad.method = kMethods[form & 3];
    mad.attributeId = kAttributes[form >> 2 & 7];
    mad.transactionId = static_cast<uint64_t>(i) + 1;
    mad.componentMask = (form & 0x20) != 0 ? 0x130c7 : script.word() * 0x10001ull;
    const auto body = script.bytes(script.byte() % (codec::kSaDataSize + 1));
    std::copy(body.begin(), body.end(), mad.data.begin());
    if ((form & 0x40) != 0) {
      const Gid own = transports[port]->port().gid;
      std::copy(own.bytes.begin(), own.bytes.end(), mad.data.begin() + 16);
    }
    codec::MadBytes bytes;
    codec::packSaMad(mad, bytes);
    // Any byte may be wrong.
    if ((form & 0x80) != 0) bytes[script.byte()] = script.byte();
    transports[port]->send(bytes, script.coin() ? 1 : script.word(), 0, Duration{1000});
    for (int rounds = 0; rounds < 4; ++rounds) {
      now += Duration{1};
      fabric.run(now);
      for (auto& transport : transports) transport->poll(now, deaf);
    }
    const auto counters = fabric.counters();
    CHECK_EQ(counters.members, fabric.members().size());
    CHECK_EQ(counters.groups, fabric.groups().size());
    CHECK(counters.groups <= options.mlidPool);
    CHECK_EQ(counters.inFlight, 0u);
  }
  fabric.removeDevice(0);
  fabric.removeDevice(1);
  fabric.run(now + Duration{1});
  CHECK_EQ(fabric.members().size(), 0u);
  return 0;
}
