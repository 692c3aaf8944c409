// Which ports the connection manager can reach, and through which local addresses.
#pragma once

#include <string>
#include <vector>

#include "core/port.h"
#include "rdmacm/socket_address.h"

namespace rxib::rdmacm {

struct ReachablePort {
  PortInfo info;
  /** Addresses of the port's interfaces, in the system's order. */
  std::vector<SocketAddress> addresses;
};

/**
 * Every RDMA port of this machine, also those without an address. Found without opening a device:
 * librdmacm never closes one that it has bound an identifier to, and an open device cannot be
 * removed.
 */
std::vector<ReachablePort> reachablePorts();

/** "rxe0 port 1, rxe1 port 1", or "none". */
std::string describePorts(const std::vector<ReachablePort>& ports);

}  // namespace rxib::rdmacm
