// Reading devices and ports through libibumad, and the sentences about what is wrong with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/port.h"
#include "rdma/sysfs_ports.h"
#include "rdma/umad_library.h"

namespace rxib::umad {

std::vector<PortInfo> listPorts(const rdma::UmadLibrary& library);

/** One port as sysfs shows it now; nothing when the device or the port has gone. */
std::optional<PortState> readPort(const rdma::UmadLibrary& library, const std::string& device,
                                  uint8_t port);

/** The GID table of a port by index: that of sysfs, or else the one GID that is known. */
std::vector<Gid> gidTable(const PortInfo& port, const std::string& sysfs = rdma::kSysfsDevices);

bool deviceExists(const rdma::UmadLibrary& library, const std::string& device);

/** "mlx5_0 port 1 (InfiniBand, active), mlx5_1 port 1 (Ethernet, active)", or "none". */
std::string describePorts(const std::vector<PortInfo>& ports);

std::string libraryMissing(const std::string& why);

/** Status and sentence for a failed umad_open_port; `error` is a positive errno. */
struct Failure {
  int status = 0;
  std::string message;
};
Failure openFailure(const std::string& device, uint8_t port, int error);

/** Why the port can't be opened as far as the list of ports tells; nothing when it can. */
std::optional<Failure> refusal(const std::vector<PortInfo>& ports, const std::string& device,
                               uint8_t port);

}  // namespace rxib::umad
