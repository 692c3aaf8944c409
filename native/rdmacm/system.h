// What the connection manager's engine needs of the machine; given by the caller, so that tests can
// bring their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/port.h"
#include "rdma/port_events.h"
#include "rdma/rdmacm_library.h"
#include "rdma/verbs_library.h"
#include "rdmacm/discovery.h"

namespace rxib::rdmacm {

struct System {
  std::shared_ptr<const rdma::RdmaCmLibrary> library;
  std::shared_ptr<const rdma::VerbsLibrary> verbs;
  rdma::PortEventSourceFactory events;
  std::function<std::vector<ReachablePort>()> ports;
  std::function<std::optional<Gid>(const std::string& device, uint8_t port, int index)> gid;
};

/** A status and what to tell the user; kOk when all is well. */
struct Verdict {
  int status = 0;
  std::string message;
};

/**
 * This machine. kENOENT: a library is not installed. kENODEV: the kernel's interface is missing,
 * and the message says which module to load. kEACCES: no permission.
 */
Verdict thisSystem(System& system);

/** The ports, or a status and why the connection manager cannot be used. */
struct Discovery {
  std::vector<ReachablePort> ports;
  Verdict verdict;
};
Discovery discover();

/** Status and sentence for a channel that could not be made; `error` is a positive errno. */
Verdict channelFailure(int error);

}  // namespace rxib::rdmacm
