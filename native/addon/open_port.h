// A port of this process: an SA client on a transport, and what drives it.
#pragma once

#include <memory>

#include "core/machine.h"
#include "sa/port.h"

namespace rxib::addon {

class OpenPort {
 public:
  /** In real time, on a thread of its own. */
  OpenPort(std::unique_ptr<MadTransport> transport, const sa::Options& options);
  /** Under a manual clock; `driver` outlives the port. */
  OpenPort(std::unique_ptr<MadTransport> transport, const sa::Options& options,
           ManualDriver& driver);
  ~OpenPort();
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  /** Ends the threads; the port is deaf afterwards. Idempotent. */
  void stop();

  sa::Port& port() { return port_; }
  bool manual() const { return manual_ != nullptr; }

 private:
  // Order matters: the port goes last, when nothing can run it any more.
  sa::Port port_;
  ThreadDriver thread_;
  ManualDriver* manual_ = nullptr;
  ManualDriver::Slot slot_;
};

}  // namespace rxib::addon
