// An embedded fabric with the clock it runs on.
#pragma once

#include "core/machine.h"
#include "embedded/fabric.h"

namespace rxib::addon {

class FabricHost {
 public:
  FabricHost(const embedded::FabricOptions& options, bool manual);
  ~FabricHost();
  FabricHost(const FabricHost&) = delete;
  FabricHost& operator=(const FabricHost&) = delete;

  /** Ends its thread; nothing happens on the fabric any more. Idempotent. */
  void stop() { thread_.stop(); }

  embedded::Fabric& fabric() { return fabric_; }
  /** Null in real time. Its machines run on the thread that advances it. */
  ManualDriver* manual() { return manual_ ? &driver_ : nullptr; }

 private:
  const bool manual_;
  ManualDriver driver_;
  ManualDriver::Slot slot_;
  embedded::Fabric fabric_;
  ThreadDriver thread_;
};

}  // namespace rxib::addon
