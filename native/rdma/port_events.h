// What a device reports about its port by itself, as opposed to what polling finds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/machine.h"
#include "core/port.h"

namespace rxib::rdma {

/** One report. The kinds are those of the verbs' asynchronous events that concern a port. */
enum class PortReport : uint8_t {
  kPortActive = 1,
  kPortError,
  kLidChange,
  kSmChange,
  kPkeyChange,
  kGidChange,
  kClientReregister,
  kDeviceFatal,
};

/** A source that is being listened to. Destroyed by the thread that owns it. */
class PortEventSource {
 public:
  virtual ~PortEventSource() = default;
  /** From now on `waker` is called when there may be something to take. Called once. */
  virtual void start(Waker& waker) = 0;
  /** Takes the oldest report; false when there is none. Never blocks. */
  virtual bool take(PortReport& report) = 0;
  /** Whether packets from this port need a global route header. */
  virtual bool needsGrh() const = 0;
  /** Ends the source's thread. Idempotent. */
  virtual void stop() = 0;
};

/** Null when the device reports nothing: no uverbs, no driver, or no permission. */
using PortEventSourceFactory =
    std::function<std::unique_ptr<PortEventSource>(const std::string& device, uint8_t port)>;

/** Opens the device through libibverbs.so.1, if both are here. */
std::unique_ptr<PortEventSource> openVerbsEvents(const std::string& device, uint8_t port);

}  // namespace rxib::rdma
