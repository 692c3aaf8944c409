#include "rdma/umad_library.h"

#include <mutex>

namespace rxib::rdma {
namespace {

bool fill(const SharedLibrary& library, UmadLibrary& table, std::string& why) {
  auto find = [&](const char* name, auto*& function) {
    if (library.find(name, function)) return true;
    why = std::string("libibumad.so.3 does not export ") + name;
    return false;
  };
  return find("umad_init", table.init) && find("umad_get_cas_names", table.getDeviceNames) &&
         find("umad_get_ca", table.getDevice) && find("umad_release_ca", table.releaseDevice) &&
         find("umad_get_port", table.getPort) && find("umad_release_port", table.releasePort) &&
         find("umad_open_port", table.openPort) && find("umad_close_port", table.closePort) &&
         find("umad_size", table.headerSize) && find("umad_get_mad", table.mad) &&
         find("umad_status", table.status) && find("umad_get_mad_addr", table.address) &&
         find("umad_set_addr", table.setAddress) && find("umad_set_pkey", table.setPkey) &&
         find("umad_set_grh", table.setGrh) && find("umad_register", table.registerAgent) &&
         find("umad_unregister", table.unregisterAgent) && find("umad_send", table.send) &&
         find("umad_recv", table.receive);
}

}  // namespace

std::shared_ptr<const UmadLibrary> umadLibrary(std::string& why) {
  static std::mutex mutex;
  // Neither is ever destroyed: threads may still be inside the library while the process exits.
  static SharedLibrary* opened = nullptr;
  static std::shared_ptr<const UmadLibrary>* loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened != nullptr) return *loaded;
  SharedLibrary library = SharedLibrary::open("libibumad.so.3", why);
  if (!library) return nullptr;
  UmadLibrary table{};
  if (!fill(library, table, why)) return nullptr;
  opened = new SharedLibrary(std::move(library));
  loaded = new std::shared_ptr<const UmadLibrary>(std::make_shared<UmadLibrary>(table));
  return *loaded;
}

}  // namespace rxib::rdma
