// A shared library that is opened when it is first needed, so that the package works without it.
#pragma once

#include <string>
#include <utility>

namespace rxib::rdma {

class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedLibrary();

  /** An empty library, and the loader's words in `why`, when it cannot be opened. */
  static SharedLibrary open(const char* soname, std::string& why);

  explicit operator bool() const { return handle_ != nullptr; }

  /** Sets `function` and returns true when the library exports `name`. */
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    void* address = symbol(name);
    if (address == nullptr) return false;
    function = reinterpret_cast<Function*>(address);
    return true;
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace rxib::rdma
