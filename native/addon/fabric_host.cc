#include "addon/fabric_host.h"

namespace rxib::addon {

FabricHost::FabricHost(const embedded::FabricOptions& options, bool manual)
    : manual_(manual), fabric_(options), thread_(fabric_) {
  if (manual_) {
    fabric_.setWaker(&slot_);
    driver_.add(slot_, fabric_);
  } else {
    fabric_.setWaker(&thread_);
    thread_.start();
  }
}

FabricHost::~FabricHost() {
  thread_.stop();
  fabric_.setWaker(nullptr);
  if (manual_) driver_.remove(slot_);
}

}  // namespace rxib::addon
