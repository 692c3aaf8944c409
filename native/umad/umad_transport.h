// MadTransport over libibumad: one port of one RDMA device, InfiniBand link layer.
//
// Threads: open() and stop() belong to whoever owns the transport; everything else belongs to the
// thread that runs the SA client, which also sends. A receiver thread of the transport's own moves
// MADs into an inbox and offers itself for that run: an answer then costs no change of thread.
// Where the device has uverbs, a third thread waits for its events, only to wake.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/mad_transport.h"
#include "rdma/port_events.h"
#include "rdma/umad_library.h"

namespace rxib::umad {

struct OpenOptions {
  /** How often the port is looked at while it is watched and has no verbs events. */
  Duration pollInterval = std::chrono::milliseconds{250};
};

/** Either a transport, or a status and what to tell the user. */
struct Opened {
  std::unique_ptr<MadTransport> transport;
  int status = kOk;
  std::string message;
};

/** All ports libibumad knows, of either link layer, or a status and why there are none. */
struct Discovery {
  std::vector<PortInfo> ports;
  int status = kOk;
  std::string message;
};

/**
 * kENOENT: no libibumad. An empty list with kOk: the library is here, a device is not. States are
 * those of sysfs.
 */
Discovery discover();

/**
 * Opens one port, active or not: whether requests can be sent shows in port().
 *
 * kENOENT: no libibumad. kENODEV: no such device or port (the message lists what exists), or no
 * umad node for it. kEOPNOTSUPP: the link layer is not InfiniBand. kEACCES: no permission (the
 * message names the node and what would help). kEBUSY: another copy of this library has the port
 * open in this process.
 */
Opened open(const std::string& device, uint8_t port, const OpenOptions& options);

/** The same, with the library and the source of verbs events given by the caller: for tests. */
struct Environment {
  std::shared_ptr<const rdma::UmadLibrary> library;
  rdma::PortEventSourceFactory events;  // empty: no uverbs
};
Discovery discover(const rdma::UmadLibrary& library);
Opened open(const Environment& environment, const std::string& device, uint8_t port,
            const OpenOptions& options);

}  // namespace rxib::umad
