// The RDMA ports of this machine as the kernel lists them, without any library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/port.h"

namespace rxib::rdma {

constexpr const char* kSysfsDevices = "/sys/class/infiniband";

/** Sorted by device and port; empty where the kernel has no RDMA device or no RDMA at all. */
std::vector<PortInfo> sysfsPorts(const std::string& devices = kSysfsDevices);

/** An entry of a port's GID table; nothing when it is empty or the port is not there. */
std::optional<Gid> sysfsGid(const std::string& device, uint8_t port, int index,
                            const std::string& devices = kSysfsDevices);

/**
 * A port's GID table by index, up to its last entry; what is empty in between is zero. An entry of
 * InfiniBand is empty too when it has only the prefix of the subnet.
 */
std::vector<Gid> sysfsGids(const std::string& device, uint8_t port,
                           const std::string& devices = kSysfsDevices);

}  // namespace rxib::rdma
