#include "rdma/verbs_library.h"

#include <mutex>

namespace rxib::rdma {
namespace {

bool fill(const SharedLibrary& library, VerbsLibrary& table, std::string& why) {
  auto find = [&](const char* name, auto*& function) {
    if (library.find(name, function)) return true;
    why = std::string("libibverbs.so.1 does not export ") + name;
    return false;
  };
  return find("ibv_get_device_list", table.getDeviceList) &&
         find("ibv_free_device_list", table.freeDeviceList) &&
         find("ibv_get_device_name", table.getDeviceName) &&
         find("ibv_open_device", table.openDevice) && find("ibv_close_device", table.closeDevice) &&
         find("ibv_get_async_event", table.getAsyncEvent) &&
         find("ibv_ack_async_event", table.acknowledge);
}

}  // namespace

std::shared_ptr<const VerbsLibrary> verbsLibrary(std::string& why) {
  static std::mutex mutex;
  // Neither is ever destroyed, as in umadLibrary().
  static SharedLibrary* opened = nullptr;
  static std::shared_ptr<const VerbsLibrary>* loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened != nullptr) return *loaded;
  SharedLibrary library = SharedLibrary::open("libibverbs.so.1", why);
  if (!library) return nullptr;
  VerbsLibrary table{};
  if (!fill(library, table, why)) return nullptr;
  opened = new SharedLibrary(std::move(library));
  loaded = new std::shared_ptr<const VerbsLibrary>(std::make_shared<VerbsLibrary>(table));
  return *loaded;
}

bool verbsPortNeedsGrh(abi::VerbsContext* context, uint8_t port) {
  if (context->abiCompat != reinterpret_cast<void*>(UINTPTR_MAX)) return false;
  auto* extension = reinterpret_cast<abi::VerbsExtension*>(
      reinterpret_cast<unsigned char*>(context) - offsetof(abi::VerbsExtension, context));
  // A library older than the operation has a smaller extension, and it lacks the head.
  if (extension->size < sizeof(abi::VerbsExtension)) return false;
  if (extension->queryPort == nullptr) return false;
  abi::VerbsPort attributes{};
  if (extension->queryPort(context, port, &attributes, sizeof attributes) != 0) return false;
  return (attributes.flags & abi::kVerbsPortNeedsGrh) != 0;
}

}  // namespace rxib::rdma
