#include "umad/discovery.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "codec/byte_order.h"
#include "core/descriptors.h"
#include "core/status.h"
#include "umad/umad_transport.h"

namespace rxib::umad {
namespace {

using rdma::abi::UmadDevice;
using rdma::abi::UmadPort;

LinkLayer linkLayerOf(const char* name) {
  // libibumad itself writes "IB" where the kernel is too old to say.
  if (std::strcmp(name, "InfiniBand") == 0 || std::strcmp(name, "IB") == 0) {
    return LinkLayer::kInfiniBand;
  }
  return std::strcmp(name, "Ethernet") == 0 ? LinkLayer::kEthernet : LinkLayer::kUnknown;
}

PortState stateOf(const UmadPort& port) {
  PortState state;
  state.phase = port.state <= static_cast<unsigned>(PortPhase::kActive)
                    ? static_cast<PortPhase>(port.state)
                    : PortPhase::kUnknown;
  state.linkLayer = linkLayerOf(port.linkLayer);
  state.lid = static_cast<uint16_t>(port.baseLid);
  state.smLid = static_cast<uint16_t>(port.smLid);
  state.smSl = static_cast<uint8_t>(port.smSl);
  std::memcpy(state.gid.bytes.data(), &port.gidPrefix, 8);
  std::memcpy(state.gid.bytes.data() + 8, &port.portGuid, 8);
  if (port.pkeys != nullptr) state.pkeys.assign(port.pkeys, port.pkeys + port.pkeyCount);
  return state;
}

std::vector<std::string> deviceNames(const rdma::UmadLibrary& library) {
  char names[rdma::abi::kUmadMaxDevices][rdma::abi::kUmadNameLength] = {};
  const int count = library.getDeviceNames(names, rdma::abi::kUmadMaxDevices);
  std::vector<std::string> list;
  for (int i = 0; i < std::min(count, rdma::abi::kUmadMaxDevices); ++i) {
    list.emplace_back(names[i], strnlen(names[i], sizeof names[i]));
  }
  return list;
}

std::string phaseName(PortPhase phase) {
  switch (phase) {
    case PortPhase::kDown:
      return "down";
    case PortPhase::kInitialize:
      return "initializing: no subnet manager has set it up yet";
    case PortPhase::kArmed:
      return "armed, not yet active";
    case PortPhase::kActive:
      return "active";
    default:
      return "in an unknown state";
  }
}

std::string linkLayerName(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::kInfiniBand:
      return "InfiniBand";
    case LinkLayer::kEthernet:
      return "Ethernet";
    default:
      return "unknown link layer";
  }
}

std::string portName(const std::string& device, uint8_t port) {
  return "port " + std::to_string(port) + " of " + device;
}

/** The character device of a port; with a placeholder for its number where sysfs does not tell. */
std::string nodePath(const std::string& device, uint8_t port) {
  for (int number = 0; number < 64; ++number) {
    const std::string directory = "/sys/class/infiniband_mad/umad" + std::to_string(number) + "/";
    std::ifstream deviceFile(directory + "ibdev");
    std::ifstream portFile(directory + "port");
    std::string name;
    int portNumber = 0;
    if (deviceFile >> name && portFile >> portNumber && name == device && portNumber == port) {
      return "/dev/infiniband/umad" + std::to_string(number);
    }
  }
  return "/dev/infiniband/umadN";
}

}  // namespace

std::vector<PortInfo> listPorts(const rdma::UmadLibrary& library) {
  std::vector<PortInfo> list;
  for (const std::string& name : deviceNames(library)) {
    UmadDevice device{};
    if (library.getDevice(name.c_str(), &device) != 0) continue;
    for (int number = 1; number < rdma::abi::kUmadMaxPorts; ++number) {
      if (device.ports[number] == nullptr) continue;
      list.push_back({name, static_cast<uint8_t>(number), stateOf(*device.ports[number])});
    }
    library.releaseDevice(&device);
  }
  return list;
}

std::optional<PortState> readPort(const rdma::UmadLibrary& library, const std::string& device,
                                  uint8_t port) {
  UmadPort raw{};
  if (library.getPort(device.c_str(), port, &raw) != 0) return std::nullopt;
  PortState state = stateOf(raw);
  library.releasePort(&raw);
  return state;
}

std::vector<Gid> gidTable(const PortInfo& port, const std::string& sysfs) {
  std::vector<Gid> table = rdma::sysfsGids(port.device, port.port, sysfs);
  // The simulator shows its sysfs to libibumad alone; its ports have one GID.
  if (table.empty()) table.push_back(port.state.gid);
  return table;
}

bool deviceExists(const rdma::UmadLibrary& library, const std::string& device) {
  const std::vector<std::string> names = deviceNames(library);
  return std::find(names.begin(), names.end(), device) != names.end();
}

std::string describePorts(const std::vector<PortInfo>& ports) {
  if (ports.empty()) return "none";
  std::string text;
  for (const PortInfo& info : ports) {
    if (!text.empty()) text += ", ";
    text += info.device + " port " + std::to_string(info.port) + " (" +
            linkLayerName(info.state.linkLayer) + ", " + phaseName(info.state.phase) + ")";
  }
  return text;
}

std::string libraryMissing(const std::string& why) {
  return "libibumad cannot be used (" + why +
         "): install or update it, on Debian and Ubuntu with apt-get install libibumad3";
}

Failure openFailure(const std::string& device, uint8_t port, int error) {
  const std::string node = nodePath(device, port);
  const std::string what = portName(device, port);
  switch (error) {
    case EACCES:
    case EPERM:
      return {kEACCES,
              "no permission to open " + node + " for " + what +
                  ": run as root, or let a udev rule give the node to a group you are in, such as "
                  "KERNEL==\"umad*\", GROUP=\"rdma\", MODE=\"0660\""};
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return {kENODEV, node + " for " + what +
                           " is missing: load the kernel module ib_umad (modprobe ib_umad), and in "
                           "a container pass /dev/infiniband through"};
    case EBUSY:
      return {kEBUSY, node + " for " + what + " is in use by another program"};
    case EMFILE:
    case ENFILE:
      return {-error, node + " cannot be opened: " + shortageMessage(-error)};
    default:
      return {kEIO, node + " for " + what + " cannot be opened: " + std::strerror(error)};
  }
}

std::optional<Failure> refusal(const std::vector<PortInfo>& ports, const std::string& device,
                               uint8_t port) {
  bool deviceKnown = false;
  for (const PortInfo& info : ports) {
    if (info.device != device) continue;
    deviceKnown = true;
    if (info.port != port) continue;
    if (info.state.linkLayer != LinkLayer::kEthernet) return std::nullopt;
    return Failure{kEOPNOTSUPP, portName(device, port) +
                                    " has an Ethernet link layer and no subnet administrator: use "
                                    "the rdmacm provider"};
  }
  const std::string wanted =
      deviceKnown ? device + " has no port " + std::to_string(port) : "no RDMA device " + device;
  return Failure{kENODEV, wanted + "; there are: " + describePorts(ports)};
}

}  // namespace rxib::umad
