// What the system says of ports and addresses: replies of the subnet management agent, their
// tables, and socket addresses of any family.
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "check.h"
#include "rdmacm/socket_address.h"
#include "script_bytes.h"
#include "umad/smp.h"

using namespace rxib;

namespace {

void replies(const uint8_t* data, size_t size) {
  umad::SmpReply reply;
  if (!umad::unpackSmpReply(data, size, reply)) return;
  CHECK(size >= codec::kMadSize);
  CHECK_EQ(reply.data, data + 64);
  PortState state;
  const size_t layers = static_cast<size_t>(state.linkLayer);
  umad::readPortInfo(reply.data, state);
  CHECK(state.phase <= PortPhase::kActive);
  CHECK(state.smSl < 16);
  CHECK_EQ(static_cast<size_t>(state.linkLayer), layers);
  // A block may lie beyond the table, or reach beyond it.
  std::vector<uint16_t> pkeys(reply.transactionId % 70, 0);
  const size_t length = pkeys.size();
  umad::readPkeyBlock(reply.data, reply.modifier % 0x10000, pkeys);
  CHECK_EQ(pkeys.size(), length);
}

void addresses(fuzz::ScriptBytes script) {
  constexpr int kFamilies[] = {AF_INET, AF_INET6, 27 /* AF_IB */, AF_UNIX};
  sockaddr_storage storage{};
  const int family = kFamilies[script.below(4)];
  const std::vector<uint8_t> bytes = script.bytes(sizeof storage - sizeof(sa_family_t));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&storage) + sizeof(sa_family_t));
  storage.ss_family = static_cast<sa_family_t>(family);
  const rdmacm::SocketAddress address(reinterpret_cast<const sockaddr*>(&storage));
  CHECK_EQ(address.family(), family);
  CHECK_EQ(address.isIp(), family == AF_INET || family == AF_INET6);
  if (address.isIp()) {
    // Through text and through a GID it stays the same address.
    const auto parsed = rdmacm::SocketAddress::parse(address.text());
    CHECK(parsed.has_value());
    CHECK(parsed->asGid() == address.asGid());
    CHECK(rdmacm::SocketAddress::ip(address.asGid()).asGid() == address.asGid());
  } else {
    CHECK(address.asGid().isZero());
  }
  const std::string text(bytes.begin(), bytes.end());
  if (const auto parsed = rdmacm::SocketAddress::parse(text)) {
    CHECK(parsed->isIp());
    CHECK(rdmacm::SocketAddress::parse(parsed->text()).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  replies(data, size);
  addresses(fuzz::ScriptBytes(data, size));
  return 0;
}
