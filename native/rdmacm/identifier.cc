#include "rdmacm/identifier.h"

#include <arpa/inet.h>

#include <cerrno>
#include <utility>

#include "core/status.h"

namespace rxib::rdmacm {
namespace {

using rdma::abi::CmJoinAttributes;

/** The context of the identifier comes back with its events; that of the join is not needed. */
void* pointer(uint64_t context) { return reinterpret_cast<void*>(static_cast<uintptr_t>(context)); }

/** What the last call left in errno; a failure that left nothing is still one. */
int failure() { return errno == 0 ? kEIO : -errno; }

}  // namespace

void Identifier::swap(Identifier& other) noexcept {
  std::swap(system_, other.system_);
  std::swap(id_, other.id_);
  std::swap(joined_, other.joined_);
}

int Identifier::create(const System& system, rdma::abi::CmChannel* channel, uint64_t context,
                       int portSpace) {
  reset();
  system_ = &system;
  errno = 0;
  if (system.library->createId(channel, &id_, pointer(context), portSpace) == 0) return kOk;
  id_ = nullptr;
  return failure();
}

int Identifier::bind(const SocketAddress& source) {
  errno = 0;
  if (system_->library->bindAddress(id_, source.raw()) != 0) return failure();
  // The kernel binds to any local address; a device comes with those of RDMA interfaces only.
  return id_->verbs == nullptr ? kEADDRNOTAVAIL : kOk;
}

int Identifier::join(const SocketAddress& group, bool sendOnly) {
  const rdma::RdmaCmLibrary& library = *system_->library;
  int result;
  errno = 0;
  if (sendOnly) {
    if (library.joinMulticastExtended == nullptr) return kEOPNOTSUPP;
    CmJoinAttributes attributes{rdma::abi::kCmJoinAddress | rdma::abi::kCmJoinFlags,
                                rdma::abi::kCmSendOnlyFullMember, group.raw()};
    result = library.joinMulticastExtended(id_, &attributes, nullptr);
  } else {
    result = library.joinMulticast(id_, group.raw(), nullptr);
  }
  if (result != 0) return failure();
  joined_ = group;
  return kOk;
}

int Identifier::leave() {
  if (!joined_) return kOk;
  errno = 0;
  const int result = system_->library->leaveMulticast(id_, joined_->raw());
  joined_.reset();
  return result == 0 ? kOk : failure();
}

void Identifier::reset() {
  if (id_ == nullptr) return;
  leave();
  system_->library->destroyId(std::exchange(id_, nullptr));
}

bool Identifier::at(const std::string& device, uint8_t port) const {
  return id_->port == port && this->device() == device;
}

std::string Identifier::device() const {
  const char* name =
      id_->verbs == nullptr ? nullptr : system_->verbs->getDeviceName(id_->verbs->device);
  return name == nullptr ? "" : name;
}

uint16_t Identifier::pkey() const { return ntohs(id_->route.address.pkey); }

}  // namespace rxib::rdmacm
