// A socket address of any family the connection manager takes, as a value.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "codec/gid.h"

namespace rxib::rdmacm {

class SocketAddress {
 public:
  /** From the system; only its family's part is kept. */
  explicit SocketAddress(const sockaddr* address);

  /** An IP address as a GID: ::ffff:a.b.c.d is IPv4, all else IPv6. */
  static SocketAddress ip(const Gid& address);
  static SocketAddress infiniBand(const Gid& gid, uint16_t pkey);
  /** An IP address; nothing when the text is none. */
  static std::optional<SocketAddress> parse(const std::string& text);

  int family() const { return storage_.ss_family; }
  /** Not an InfiniBand address. */
  bool isIp() const;
  /** The library takes pointers to addresses it does not write to. */
  sockaddr* raw() const {
    return const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&storage_));
  }
  /** An IP address as ip() takes it; zero for an InfiniBand address. */
  Gid asGid() const;
  std::string text() const;

  bool operator==(const SocketAddress& other) const;

 private:
  SocketAddress() = default;

  sockaddr_storage storage_{};
};

}  // namespace rxib::rdmacm
