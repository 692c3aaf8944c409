// The real ports of this process. A membership counts per port, so a port is opened once per
// process and shared by all JavaScript environments.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "addon/open_port.h"
#include "core/port.h"
#include "sa/options.h"
#if RXIB_WITH_RDMA
#include "umad/umad_transport.h"
#endif

namespace rxib::addon {

/** What governs an opened port; the first opener decides. */
struct PortSettings {
  sa::Options sa;
  Duration pollInterval = std::chrono::milliseconds{250};

  /** Empty when equal; otherwise what differs, for a person to read. */
  std::string differenceFrom(const PortSettings& other) const;
};

/** Either a port, or a status and what to tell the user. */
struct OpenResult {
  std::shared_ptr<OpenPort> port;
  int status = 0;
  std::string message;
};

class PortRegistry {
 public:
#if RXIB_WITH_RDMA
  using UmadOpener = std::function<umad::Opened(const std::string& device, uint8_t port,
                                                const umad::OpenOptions& options)>;
  explicit PortRegistry(UmadOpener umadOpener) : umadOpener_(std::move(umadOpener)) {}
#endif
  /** One per process and never destroyed: threads may still look at it while the process exits. */
  static PortRegistry& instance();

  /** A port whose device has gone is nobody's but its present users'. */
  OpenResult openUmad(const std::string& device, uint8_t port, const PortSettings& settings);
  /** One channel per port, port space and source address (empty: any). */
  OpenResult openRdmaCm(const std::string& device, uint8_t port, bool ipoib,
                        const std::string& source);
  /** Every port that is open, whichever environment opened it. */
  std::vector<std::shared_ptr<OpenPort>> openPorts();

 private:
  struct Entry {
    std::weak_ptr<OpenPort> port;
    PortSettings settings;
  };

#if RXIB_WITH_RDMA
  const UmadOpener umadOpener_;
#endif
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace rxib::addon
