// An identifier of the connection manager (rdma_cm_id) with its one owner.
#pragma once

#include <optional>
#include <string>

#include "rdmacm/socket_address.h"
#include "rdmacm/system.h"

namespace rxib::rdmacm {

/**
 * Destroyed with its owner, by the thread that takes the channel's events: destruction waits until
 * every event of the identifier is acknowledged.
 */
class Identifier {
 public:
  Identifier() = default;
  Identifier(Identifier&& other) noexcept { swap(other); }
  Identifier& operator=(Identifier&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Identifier() { reset(); }

  /** 0, or a negative errno. `context` comes back with every event. */
  int create(const System& system, rdma::abi::CmChannel* channel, uint64_t context, int portSpace);
  /** 0, or a negative errno; also for an address of an interface that is no RDMA device's. */
  int bind(const SocketAddress& source);
  int join(const SocketAddress& group, bool sendOnly);
  /** Also frees what the library keeps of a join that failed, so it must follow every join(). */
  int leave();
  void reset();

  explicit operator bool() const { return id_ != nullptr; }
  /** Bound to this port? */
  bool at(const std::string& device, uint8_t port) const;
  std::string device() const;
  uint8_t port() const { return id_->port; }
  /** As the interface has it; 0 where it has none. */
  uint16_t pkey() const;

 private:
  void swap(Identifier& other) noexcept;

  const System* system_ = nullptr;
  rdma::abi::CmId* id_ = nullptr;
  std::optional<SocketAddress> joined_;
};

}  // namespace rxib::rdmacm
