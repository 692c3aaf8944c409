#include "rdmacm/system.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/descriptors.h"
#include "core/status.h"
#include "rdma/sysfs_ports.h"

namespace rxib::rdmacm {
namespace {

constexpr const char* kNode = "/dev/infiniband/rdma_cm";

std::string libraryMissing(const char* library, const char* package, const std::string& why) {
  return std::string(library) + " cannot be used (" + why +
         "): install or update it, on Debian and Ubuntu with apt-get install " + package;
}

}  // namespace

Verdict channelFailure(int error) {
  const std::string node = kNode;
  switch (error) {
    case EACCES:
    case EPERM:
      return {kEACCES, "no permission to open " + node +
                           ": it is made for everybody (mode 0666), so a udev rule or the "
                           "container has taken that away"};
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return {kENODEV, node +
                           " is missing or knows no device: load the kernel module rdma_ucm "
                           "(modprobe rdma_ucm) and the driver of the device, install "
                           "ibverbs-providers, and in a container pass /dev/infiniband through"};
    case EMFILE:
    case ENFILE:
      return {-error, node + " cannot be opened: " + shortageMessage(-error)};
    default:
      return {kEIO, node + " cannot be used: " + std::strerror(error)};
  }
}

Verdict missing(int status, std::string message) {
  if (const int shortage = descriptorShortage()) return {shortage, shortageMessage(shortage)};
  return {status, std::move(message)};
}

Verdict thisSystem(System& system) {
  std::string why;
  system.library = rdma::rdmaCmLibrary(why);
  if (system.library == nullptr) {
    return missing(kENOENT, libraryMissing("librdmacm", "librdmacm1", why));
  }
  system.verbs = rdma::verbsLibrary(why);
  if (system.verbs == nullptr) {
    return missing(kENOENT, libraryMissing("libibverbs", "libibverbs1", why));
  }
  // Asked for here, since the library's own complaint does not tell the cases apart.
  if (access(kNode, R_OK | W_OK) != 0) return channelFailure(errno);
  system.events = rdma::openVerbsEvents;
  system.ports = reachablePorts;
  system.gid = [](const std::string& device, uint8_t port, int index) {
    return rdma::sysfsGid(device, port, index);
  };
  return {};
}

Discovery discover() {
  System system;
  Verdict verdict = thisSystem(system);
  if (verdict.status != kOk) return {{}, std::move(verdict)};
  std::vector<ReachablePort> ports = system.ports();
  if (ports.empty()) verdict = missing(kOk, {});
  return {std::move(ports), std::move(verdict)};
}

}  // namespace rxib::rdmacm
