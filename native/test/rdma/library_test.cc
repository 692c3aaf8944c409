// Libraries that are opened at run time, present or not.
#include "check.h"
#include "rdma/shared_library.h"
#include "rdma/umad_library.h"
#include "rdma/verbs_library.h"

namespace rxib::rdma {
namespace {

TEST("rdma library: one that is not there says so") {
  std::string why;
  const SharedLibrary library = SharedLibrary::open("librxib-no-such-library.so.9", why);
  CHECK(!library);
  CHECK(why.find("librxib-no-such-library.so.9") != std::string::npos);
  int (*function)() = nullptr;
  CHECK(!library.find("anything", function));
  CHECK(function == nullptr);
}

TEST("rdma library: functions are found by name") {
  std::string why;
  SharedLibrary library = SharedLibrary::open("libc.so.6", why);
  if (!library) return;  // not a glibc system
  size_t (*length)(const char*) = nullptr;
  CHECK(library.find("strlen", length));
  CHECK_EQ(length("four"), size_t{4});
  CHECK(!library.find("rxib_no_such_function", length));
  CHECK_EQ(length("still"), size_t{5});
  const SharedLibrary moved = std::move(library);
  CHECK(static_cast<bool>(moved));
}

TEST("rdma library: libibumad and libibverbs, where installed, have everything we call") {
  std::string why;
  if (auto umad = umadLibrary(why)) {
    CHECK(umad == umadLibrary(why));
    const size_t size = umad->headerSize();
    CHECK(size == 56 || size == 64);
  } else {
    CHECK(why.find("libibumad.so.3") != std::string::npos);
    CHECK(why.find("does not export") == std::string::npos);
  }
  if (auto verbs = verbsLibrary(why)) {
    CHECK(verbs == verbsLibrary(why));
  } else {
    CHECK(why.find("does not export") == std::string::npos);
  }
}

}  // namespace
}  // namespace rxib::rdma
