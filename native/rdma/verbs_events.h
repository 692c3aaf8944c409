// Port events of a device through libibverbs.
#pragma once

#include <mutex>
#include <thread>

#include "rdma/port_events.h"
#include "rdma/verbs_library.h"

namespace rxib::rdma {

/**
 * Owns a device context. A thread waits for the context's event descriptor and wakes; it reads
 * nothing. The owner takes events, each of which is acknowledged before take() returns.
 */
class VerbsEvents final : public PortEventSource {
 public:
  /** Null when the device is not among verbs devices or cannot be opened. */
  static std::unique_ptr<PortEventSource> open(std::shared_ptr<const VerbsLibrary> library,
                                               const std::string& device, uint8_t port);
  ~VerbsEvents() override;

  void start(Waker& waker) override;
  bool take(PortReport& report) override;
  bool needsGrh() const override { return needsGrh_; }
  void stop() override;

 private:
  VerbsEvents(std::shared_ptr<const VerbsLibrary> library, abi::VerbsContext* context,
              uint8_t port);
  void wait(Waker& waker);
  void rearm();

  const std::shared_ptr<const VerbsLibrary> library_;
  abi::VerbsContext* const context_;
  const uint8_t port_;
  const bool needsGrh_;
  bool dead_ = false;  // the owner's
  // Written to by the owner: the thread looks again, or ends. Between a wake and the owner's take()
  // the descriptor stays readable, and the thread must not spin on it.
  int controlFd_ = -1;
  std::mutex mutex_;
  bool armed_ = true;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rxib::rdma
