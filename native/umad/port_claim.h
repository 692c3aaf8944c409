// One opener per port and process. Membership counts per port, so two SA clients of one process on
// one port would leave each other's groups; two copies of this library could not otherwise know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rxib::umad {

class PortClaim {
 public:
  /**
   * Null when another copy of the library in this process holds the port. When it is this copy that
   * holds it, waits up to two seconds: a transport on its way out on another thread is no rival.
   */
  static std::unique_ptr<PortClaim> take(const std::string& device, uint8_t port);
  ~PortClaim();
  PortClaim(const PortClaim&) = delete;
  PortClaim& operator=(const PortClaim&) = delete;

 private:
  PortClaim(std::string name, int socket) : name_(std::move(name)), socket_(socket) {}

  const std::string name_;
  const int socket_;
};

/** What a claim is known by on the machine, and taking that name: a socket, -1 taken, -2 failed. */
std::string claimName(const std::string& device, uint8_t port);
int bindClaimName(const std::string& name);

}  // namespace rxib::umad
