#include "rdmacm/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "rdma/rdmacm_library.h"

namespace rxib::rdmacm {
namespace {

using rdma::abi::InfiniBandAddress;
using rdma::abi::kAddressFamilyInfiniBand;

constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

size_t lengthOf(int family) {
  switch (family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    case kAddressFamilyInfiniBand:
      return sizeof(InfiniBandAddress);
    default:
      return sizeof(sa_family_t);
  }
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address) {
  std::memcpy(&storage_, address, lengthOf(address->sa_family));
}

SocketAddress SocketAddress::ip(const Gid& address) {
  SocketAddress result;
  if (std::memcmp(address.bytes.data(), kMappedPrefix, sizeof kMappedPrefix) == 0) {
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&result.storage_);
    ipv4->sin_family = AF_INET;
    std::memcpy(&ipv4->sin_addr, address.bytes.data() + 12, 4);
  } else {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&result.storage_);
    ipv6->sin6_family = AF_INET6;
    std::memcpy(&ipv6->sin6_addr, address.bytes.data(), 16);
  }
  return result;
}

SocketAddress SocketAddress::infiniBand(const Gid& gid, uint16_t pkey) {
  SocketAddress result;
  auto* address = reinterpret_cast<InfiniBandAddress*>(&result.storage_);
  address->family = kAddressFamilyInfiniBand;
  address->pkey = htons(pkey);
  std::memcpy(address->gid, gid.bytes.data(), sizeof address->gid);
  return result;
}

std::optional<SocketAddress> SocketAddress::parse(const std::string& text) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  // And not inet_pton(), for the sake of link-local addresses with their interface.
  if (getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  SocketAddress result(found->ai_addr);
  freeaddrinfo(found);
  return result;
}

bool SocketAddress::isIp() const { return family() == AF_INET || family() == AF_INET6; }

Gid SocketAddress::asGid() const {
  Gid gid;
  if (family() == AF_INET) {
    std::memcpy(gid.bytes.data(), kMappedPrefix, sizeof kMappedPrefix);
    std::memcpy(gid.bytes.data() + 12, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr,
                4);
  } else if (family() == AF_INET6) {
    std::memcpy(gid.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, 16);
  }
  return gid;
}

std::string SocketAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text,
              sizeof text);
  } else if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, text,
              sizeof text);
  } else if (family() == kAddressFamilyInfiniBand) {
    inet_ntop(AF_INET6, reinterpret_cast<const InfiniBandAddress*>(&storage_)->gid, text,
              sizeof text);
  }
  return text;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  return family() == other.family() && text() == other.text();
}

}  // namespace rxib::rdmacm
