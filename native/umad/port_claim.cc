#include "umad/port_claim.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>

namespace rxib::umad {
namespace {

/** What this copy of the library holds. Never destroyed, as a worker may close a port at exit. */
struct Held {
  std::mutex mutex;
  std::condition_variable released;
  std::set<std::string> names;
};

Held& held() {
  static Held* all = new Held;
  return *all;
}

}  // namespace

std::string claimName(const std::string& device, uint8_t port) {
  // Containers often share the network, which holds these names, while each has a process 1.
  char space[64] = {};
  const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  std::string name = "rx-ib-multicast/";
  if (length > 0) name += std::string(space, static_cast<size_t>(length)) + "/";
  return name + std::to_string(getpid()) + "/" + device + "/" + std::to_string(port);
}

/** A socket bound to the abstract name; -1 when the name is taken, -2 when it can't be had at all.
 */
int bindClaimName(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return -2;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -2;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
  const bool taken = errno == EADDRINUSE;
  close(fd);
  return taken ? -1 : -2;
}

std::unique_ptr<PortClaim> PortClaim::take(const std::string& device, uint8_t port) {
  const std::string name = claimName(device, port);
  Held& all = held();
  std::unique_lock<std::mutex> lock(all.mutex);
  const bool free = all.released.wait_for(lock, std::chrono::seconds{2},
                                          [&] { return all.names.count(name) == 0; });
  if (!free) return nullptr;
  const int fd = bindClaimName(name);
  if (fd == -1) return nullptr;
  // Where sockets are not to be had, the claim guards against this copy only.
  all.names.insert(name);
  return std::unique_ptr<PortClaim>(new PortClaim(name, fd));
}

PortClaim::~PortClaim() {
  Held& all = held();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (socket_ >= 0) close(socket_);
    all.names.erase(name_);
  }
  all.released.notify_all();
}

}  // namespace rxib::umad
