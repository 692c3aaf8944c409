// For processes on a simulated host that are to hear the reports of the subnet administrator, to be
// preloaded before the simulator's own libumad2sim. That one hands requests from the fabric only to
// a client that is flagged as a subnet manager, and crashes on those for which no agent is
// registered. So this flags the client while it has an agent for reports, and tells the other
// subnet managers, which would wait for its word forever, that it is none of them.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr unsigned kUmadIoctl = 0x1b;
constexpr unsigned kRegister = 1;
constexpr unsigned kUnregister = 2;
constexpr uint32_t kReportBit = 1u << 0x06;

/** The beginning of the kernel's ib_user_mad_reg_req. */
struct Registration {
  uint32_t agent;
  uint32_t methods[4];
};

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int port = -1;  // descriptor of the port with the agent
int flag = -1;  // descriptor that flags the client as long as it is open
uint32_t reportAgent = 0;

/** The simulator numbers the ports of Hca1, Hca2, ... so. */
uint64_t portGuid() {
  unsigned host = 1;
  const char* name = std::getenv("SIM_HOST");
  if (name != nullptr) std::sscanf(name, "Hca%u", &host);
  return 0x100001 + 2 * (host - 1);
}

/** Answers a directed-route Get(SMInfo): a subnet manager that is not active. */
void answer(const void* message, size_t size) {
  constexpr size_t kMad = 256;
  constexpr size_t kData = 64;
  constexpr size_t kSmInfo = 25;
  constexpr uint8_t kSmKey = 1;  // OpenSM's own default
  static const auto headerSize = reinterpret_cast<size_t (*)()>(dlsym(RTLD_DEFAULT, "umad_size"));
  const size_t header = headerSize();
  if (size < header + kMad) return;
  const auto* bytes = static_cast<const uint8_t*>(message);
  std::vector<uint8_t> reply(bytes, bytes + header + kMad);
  uint8_t* mad = reply.data() + header;
  if (mad[1] != 0x81 || mad[3] != 0x01 || mad[16] != 0 || mad[17] != 0x20) return;
  mad[3] = 0x81;
  mad[4] = 0x80;  // on its way back
  std::fill(mad + kData, mad + kData + kSmInfo, uint8_t{0});
  for (int i = 0; i < 8; ++i) mad[kData + i] = static_cast<uint8_t>(portGuid() >> (56 - 8 * i));
  mad[kData + 15] = kSmKey;
  (void)next<ssize_t (*)(int, const void*, size_t)>("write")(port, reply.data(), reply.size());
}

}  // namespace

extern "C" int ioctl(int file, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  static const auto forward = next<int (*)(int, unsigned long, void*)>("ioctl");
  const bool umad = _IOC_TYPE(request) == kUmadIoctl;
  if (umad && _IOC_NR(request) == kUnregister && flag >= 0 &&
      *static_cast<const uint32_t*>(argument) == reportAgent) {
    next<int (*)(int)>("close")(flag);
    flag = -1;
  }
  const int result = forward(file, request, argument);
  if (umad && _IOC_NR(request) == kRegister && result == 0) {
    const auto& made = *static_cast<const Registration*>(argument);
    if ((made.methods[0] & kReportBit) != 0) {
      port = file;
      reportAgent = made.agent;
      flag = next<int (*)(const char*, int, ...)>("open")("/dev/infiniband/issm0", O_RDWR);
    }
  }
  return result;
}

extern "C" ssize_t read(int file, void* buffer, size_t size) {
  static const auto forward = next<ssize_t (*)(int, void*, size_t)>("read");
  const ssize_t result = forward(file, buffer, size);
  if (file == port && result > 0) answer(buffer, static_cast<size_t>(result));
  return result;
}
