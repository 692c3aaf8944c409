// A port of this process that is open: an engine, and what drives it.
#pragma once

#include <memory>

#include "core/engine.h"
#include "core/machine.h"
#include "sa/port.h"
#if RXIB_WITH_RDMA
#include "rdmacm/channel.h"
#endif

namespace rxib::addon {

class OpenPort {
 public:
  virtual ~OpenPort() = default;

  virtual Engine& engine() = 0;
  /** Ends the threads; the port is deaf afterwards. Idempotent. */
  virtual void stop() = 0;
  /** Its time moves for nobody but the one who advances it. */
  virtual bool manual() const { return false; }
  /** Of no use any more, since the device is gone: whoever opens the port anew gets another one. */
  virtual bool removed() const { return false; }
};

/** An SA client on a transport. */
class OpenSaPort final : public OpenPort {
 public:
  /** In real time, on a thread of its own. */
  OpenSaPort(std::unique_ptr<MadTransport> transport, const sa::Options& options);
  /** Under a manual clock; `driver` outlives the port. */
  OpenSaPort(std::unique_ptr<MadTransport> transport, const sa::Options& options,
             ManualDriver& driver);
  ~OpenSaPort() override;
  OpenSaPort(const OpenSaPort&) = delete;
  OpenSaPort& operator=(const OpenSaPort&) = delete;

  Engine& engine() override { return port_; }
  void stop() override;
  bool manual() const override { return manual_ != nullptr; }
  bool removed() const override { return port_.removed(); }

 private:
  // Order matters: the port goes last, when nothing can run it any more.
  sa::Port port_;
  ThreadDriver thread_;
  ManualDriver* manual_ = nullptr;
  ManualDriver::Slot slot_;
};

#if RXIB_WITH_RDMA
/** A channel to the kernel's connection manager. */
class OpenChannel final : public OpenPort {
 public:
  explicit OpenChannel(std::unique_ptr<rdmacm::Channel> channel) : channel_(std::move(channel)) {}

  Engine& engine() override { return *channel_; }
  void stop() override { channel_->stop(); }
  bool removed() const override { return channel_->removed(); }

 private:
  const std::unique_ptr<rdmacm::Channel> channel_;
};
#endif

}  // namespace rxib::addon
