#include "rdmacm/discovery.h"

#include <cerrno>

#include "core/status.h"
#include "rdmacm/identifier.h"

namespace rxib::rdmacm {

std::vector<SocketAddress> addressesOf(const System& system, rdma::abi::CmChannel* channel,
                                       int portSpace, const std::string& device, uint8_t port) {
  std::vector<SocketAddress> found;
  for (const SocketAddress& address : system.addresses()) {
    Identifier id;
    if (id.create(system, channel, 0, portSpace) != kOk) break;
    if (id.bind(address) == kOk && id.at(device, port)) found.push_back(address);
  }
  return found;
}

Discovery discover(const System& system) {
  Discovery result;
  for (PortInfo& info : system.ports()) result.ports.push_back({std::move(info), {}});
  // Without a device the library refuses to work at all, which is no failure here.
  if (result.ports.empty()) return result;
  rdma::abi::CmChannel* channel = system.library->createChannel();
  if (channel == nullptr) {
    result.ports.clear();
    result.verdict = channelFailure(errno);
    return result;
  }
  for (const SocketAddress& address : system.addresses()) {
    Identifier id;
    if (id.create(system, channel, 0, rdma::abi::kCmPortSpaceUdp) != kOk) break;
    if (id.bind(address) != kOk) continue;
    for (ReachablePort& port : result.ports) {
      if (id.at(port.info.device, port.info.port)) port.addresses.push_back(address);
    }
  }
  system.library->destroyChannel(channel);
  return result;
}

Discovery discover() {
  System system;
  Verdict verdict = thisSystem(system);
  if (verdict.status != kOk) return {{}, std::move(verdict)};
  return discover(system);
}

std::string describePorts(const std::vector<PortInfo>& ports) {
  if (ports.empty()) return "none";
  std::string text;
  for (const PortInfo& info : ports) {
    if (!text.empty()) text += ", ";
    text += info.device + " port " + std::to_string(info.port);
  }
  return text;
}

}  // namespace rxib::rdmacm
