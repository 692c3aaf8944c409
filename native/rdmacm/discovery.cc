#include "rdmacm/discovery.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "rdma/sysfs_ports.h"

namespace rxib::rdmacm {
namespace {

struct LocalAddress {
  std::string interface;
  SocketAddress address;
};

std::vector<LocalAddress> localAddresses() {
  std::vector<LocalAddress> list;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return list;
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) {
      list.push_back({entry->ifa_name, SocketAddress(entry->ifa_addr)});
    }
  }
  freeifaddrs(all);
  return list;
}

/** On Ethernet each address of an interface stands in the GID table of its port. */
std::set<Gid> gidTable(const std::string& device, uint8_t port) {
  const std::vector<Gid> table = rdma::sysfsGids(device, port);
  return {table.begin(), table.end()};
}

/** The GID in the hardware address of an IPoIB interface; zero for any other interface. */
Gid ipoibGid(const std::string& interface) {
  constexpr size_t kQueuePair = 4;
  std::ifstream file("/sys/class/net/" + interface + "/address");
  std::string part;
  std::vector<uint8_t> bytes;
  while (std::getline(file, part, ':')) {
    bytes.push_back(static_cast<uint8_t>(std::strtoul(part.c_str(), nullptr, 16)));
  }
  Gid gid;
  if (bytes.size() == kQueuePair + gid.bytes.size()) {
    std::copy(bytes.begin() + kQueuePair, bytes.end(), gid.bytes.begin());
  }
  return gid;
}

}  // namespace

std::vector<ReachablePort> reachablePorts() {
  std::vector<ReachablePort> list;
  const std::vector<LocalAddress> addresses = localAddresses();
  for (PortInfo& info : rdma::sysfsPorts()) {
    ReachablePort port{std::move(info), {}};
    const bool ethernet = port.info.state.linkLayer == LinkLayer::kEthernet;
    const std::set<Gid> gids =
        ethernet ? gidTable(port.info.device, port.info.port) : std::set<Gid>{port.info.state.gid};
    for (const LocalAddress& local : addresses) {
      const Gid gid = ethernet ? local.address.asGid() : ipoibGid(local.interface);
      if (!gid.isZero() && gids.count(gid) != 0) port.addresses.push_back(local.address);
    }
    list.push_back(std::move(port));
  }
  return list;
}

std::string describePorts(const std::vector<ReachablePort>& ports) {
  if (ports.empty()) return "none";
  std::string text;
  for (const ReachablePort& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.info.device + " port " + std::to_string(port.info.port);
  }
  return text;
}

}  // namespace rxib::rdmacm
