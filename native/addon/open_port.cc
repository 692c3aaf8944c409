#include "addon/open_port.h"

#include <utility>

namespace rxib::addon {

OpenSaPort::OpenSaPort(std::unique_ptr<MadTransport> transport, const sa::Options& options)
    : port_(std::move(transport), options), thread_(port_) {
  port_.start(thread_);
  thread_.start();
}

OpenSaPort::OpenSaPort(std::unique_ptr<MadTransport> transport, const sa::Options& options,
                       ManualDriver& driver)
    : port_(std::move(transport), options), thread_(port_), manual_(&driver) {
  port_.start(slot_);
  driver.add(slot_, port_);
}

OpenSaPort::~OpenSaPort() { stop(); }

void OpenSaPort::stop() {
  if (manual_ != nullptr) {
    manual_->remove(slot_);
  } else {
    thread_.stop();
  }
  port_.stop();
}

}  // namespace rxib::addon
