#include "rdma/sysfs_ports.h"

#include <arpa/inet.h>
#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "codec/byte_order.h"

namespace rxib::rdma {
namespace {

std::vector<std::string> entriesOf(const std::string& folder) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/** Decimal or 0x; what follows the number, as in "4: ACTIVE", is ignored. */
unsigned number(const std::string& text) {
  return static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 0));
}

std::optional<Gid> gidOf(const std::string& text) {
  Gid gid;
  if (inet_pton(AF_INET6, text.c_str(), gid.bytes.data()) != 1 || gid.isZero()) return std::nullopt;
  return gid;
}

PortState stateOf(const std::string& folder) {
  PortState state;
  const unsigned phase = number(firstLine(folder + "/state"));
  if (phase <= static_cast<unsigned>(PortPhase::kActive)) {
    state.phase = static_cast<PortPhase>(phase);
  }
  const std::string layer = firstLine(folder + "/link_layer");
  if (layer == "InfiniBand") state.linkLayer = LinkLayer::kInfiniBand;
  if (layer == "Ethernet") state.linkLayer = LinkLayer::kEthernet;
  state.lid = static_cast<uint16_t>(number(firstLine(folder + "/lid")));
  state.smLid = static_cast<uint16_t>(number(firstLine(folder + "/sm_lid")));
  state.smSl = static_cast<uint8_t>(number(firstLine(folder + "/sm_sl")));
  if (auto gid = gidOf(firstLine(folder + "/gids/0"))) state.gid = *gid;
  const size_t pkeys = entriesOf(folder + "/pkeys").size();
  for (size_t i = 0; i < pkeys; ++i) {
    state.pkeys.push_back(
        static_cast<uint16_t>(number(firstLine(folder + "/pkeys/" + std::to_string(i)))));
  }
  return state;
}

}  // namespace

std::vector<PortInfo> sysfsPorts(const std::string& devices) {
  std::vector<PortInfo> list;
  for (const std::string& device : entriesOf(devices)) {
    const std::string folder = devices + "/" + device + "/ports";
    std::vector<unsigned> ports;
    for (const std::string& name : entriesOf(folder)) ports.push_back(number(name));
    std::sort(ports.begin(), ports.end());
    for (unsigned port : ports) {
      if (port == 0 || port > 255) continue;
      list.push_back(
          {device, static_cast<uint8_t>(port), stateOf(folder + "/" + std::to_string(port))});
    }
  }
  return list;
}

std::optional<Gid> sysfsGid(const std::string& device, uint8_t port, int index,
                            const std::string& devices) {
  return gidOf(firstLine(devices + "/" + device + "/ports/" + std::to_string(port) + "/gids/" +
                         std::to_string(index)));
}

std::vector<Gid> sysfsGids(const std::string& device, uint8_t port, const std::string& devices) {
  // Tables have up to a thousand entries. They are filled from the start, and GIDs that went away
  // leave gaps.
  constexpr size_t kLongestGap = 32;
  constexpr size_t kMostGids = 1024;
  std::vector<Gid> table;
  for (size_t index = 0; index < std::min(kMostGids, table.size() + kLongestGap); ++index) {
    const auto gid = sysfsGid(device, port, static_cast<int>(index), devices);
    if (!gid || codec::read64(gid->bytes.data() + 8) == 0) continue;
    table.resize(index + 1);
    table[index] = *gid;
  }
  return table;
}

}  // namespace rxib::rdma
