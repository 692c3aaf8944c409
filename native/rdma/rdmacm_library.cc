#include "rdma/rdmacm_library.h"

#include <mutex>

namespace rxib::rdma {
namespace {

bool fill(const SharedLibrary& library, RdmaCmLibrary& table, std::string& why) {
  auto find = [&](const char* name, auto*& function) {
    if (library.find(name, function)) return true;
    why = std::string("librdmacm.so.1 does not export ") + name;
    return false;
  };
  library.find("rdma_join_multicast_ex", table.joinMulticastExtended);
  return find("rdma_get_devices", table.getDevices) &&
         find("rdma_free_devices", table.freeDevices) &&
         find("rdma_create_event_channel", table.createChannel) &&
         find("rdma_destroy_event_channel", table.destroyChannel) &&
         find("rdma_create_id", table.createId) && find("rdma_destroy_id", table.destroyId) &&
         find("rdma_bind_addr", table.bindAddress) &&
         find("rdma_join_multicast", table.joinMulticast) &&
         find("rdma_leave_multicast", table.leaveMulticast) &&
         find("rdma_get_cm_event", table.getEvent) && find("rdma_ack_cm_event", table.acknowledge);
}

}  // namespace

std::shared_ptr<const RdmaCmLibrary> rdmaCmLibrary(std::string& why) {
  static std::mutex mutex;
  // Neither is ever destroyed, as in umadLibrary().
  static SharedLibrary* opened = nullptr;
  static std::shared_ptr<const RdmaCmLibrary>* loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened != nullptr) return *loaded;
  SharedLibrary library = SharedLibrary::open("librdmacm.so.1", why);
  if (!library) return nullptr;
  RdmaCmLibrary table{};
  if (!fill(library, table, why)) return nullptr;
  opened = new SharedLibrary(std::move(library));
  loaded = new std::shared_ptr<const RdmaCmLibrary>(std::make_shared<RdmaCmLibrary>(table));
  return *loaded;
}

}  // namespace rxib::rdma
