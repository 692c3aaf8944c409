#include "rdma/shared_library.h"

#include <dlfcn.h>

namespace rxib::rdma {

SharedLibrary SharedLibrary::open(const char* soname, std::string& why) {
  SharedLibrary library;
  // Without RTLD_DEEPBIND: a preloaded simulator has to see the library's own system calls.
  library.handle_ = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* reason = dlerror();
    why = reason == nullptr ? soname : reason;
  }
  return library;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace rxib::rdma
