// Which ports the connection manager can reach, and through which local addresses.
#pragma once

#include <string>
#include <vector>

#include "core/port.h"
#include "rdmacm/system.h"

namespace rxib::rdmacm {

struct ReachablePort {
  PortInfo info;
  /** Addresses that the kernel binds to this port, in the system's order. */
  std::vector<SocketAddress> addresses;
};

/** Or a status and why there are none. */
struct Discovery {
  std::vector<ReachablePort> ports;
  Verdict verdict;
};

/** Every RDMA port of the machine, also those without an address. */
Discovery discover(const System& system);
/** Those of this machine. */
Discovery discover();

/**
 * The addresses through which the kernel reaches one port. It is asked, address by address: it
 * alone knows about partitions, VLANs and bonds.
 */
std::vector<SocketAddress> addressesOf(const System& system, rdma::abi::CmChannel* channel,
                                       int portSpace, const std::string& device, uint8_t port);

/** "rxe0 port 1, rxe1 port 1", or "none". */
std::string describePorts(const std::vector<PortInfo>& ports);

}  // namespace rxib::rdmacm
