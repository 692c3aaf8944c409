#include "rdma/verbs_events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace rxib::rdma {
namespace {

bool makeNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool reportOf(int type, PortReport& report) {
  switch (type) {
    case abi::kVerbsDeviceFatal:
      report = PortReport::kDeviceFatal;
      return true;
    case abi::kVerbsPortActive:
      report = PortReport::kPortActive;
      return true;
    case abi::kVerbsPortError:
      report = PortReport::kPortError;
      return true;
    case abi::kVerbsLidChange:
      report = PortReport::kLidChange;
      return true;
    case abi::kVerbsPkeyChange:
      report = PortReport::kPkeyChange;
      return true;
    case abi::kVerbsSmChange:
      report = PortReport::kSmChange;
      return true;
    case abi::kVerbsClientReregister:
      report = PortReport::kClientReregister;
      return true;
    case abi::kVerbsGidChange:
      report = PortReport::kGidChange;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::unique_ptr<PortEventSource> openVerbsEvents(const std::string& device, uint8_t port) {
  std::string why;
  auto library = verbsLibrary(why);
  if (library == nullptr) return nullptr;
  return VerbsEvents::open(std::move(library), device, port);
}

std::unique_ptr<PortEventSource> VerbsEvents::open(std::shared_ptr<const VerbsLibrary> library,
                                                   const std::string& device, uint8_t port) {
  int count = 0;
  abi::VerbsDevice** list = library->getDeviceList(&count);
  if (list == nullptr) return nullptr;
  abi::VerbsContext* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    const char* name = library->getDeviceName(list[i]);
    if (name != nullptr && device == name) context = library->openDevice(list[i]);
  }
  library->freeDeviceList(list);
  if (context == nullptr) return nullptr;
  if (!makeNonBlocking(context->asyncFd)) {
    library->closeDevice(context);
    return nullptr;
  }
  std::unique_ptr<VerbsEvents> events(new VerbsEvents(std::move(library), context, port));
  if (events->controlFd_ < 0) return nullptr;
  return events;
}

VerbsEvents::VerbsEvents(std::shared_ptr<const VerbsLibrary> library, abi::VerbsContext* context,
                         uint8_t port)
    : library_(std::move(library)),
      context_(context),
      port_(port),
      needsGrh_(verbsPortNeedsGrh(context, port)),
      controlFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

VerbsEvents::~VerbsEvents() {
  stop();
  if (controlFd_ >= 0) close(controlFd_);
  library_->closeDevice(context_);
}

void VerbsEvents::start(Waker& waker) {
  thread_ = std::thread([this, &waker] { wait(waker); });
}

void VerbsEvents::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  rearm();
  thread_.join();
}

void VerbsEvents::rearm() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    armed_ = true;
  }
  const uint64_t one = 1;
  // A full counter is readable as well, which is all that matters.
  [[maybe_unused]] ssize_t written = write(controlFd_, &one, sizeof one);
}

bool VerbsEvents::take(PortReport& report) {
  for (;;) {
    abi::VerbsEvent event{};
    if (library_->getAsyncEvent(context_, &event) != 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        rearm();
        return false;
      }
      // The descriptor is dead, and readable for ever: the device has gone. Said once.
      if (dead_) return false;
      dead_ = true;
      report = PortReport::kDeviceFatal;
      return true;
    }
    const int type = event.type;
    const int port = event.element.port;
    // At once: what is unacknowledged keeps its object, and closing the device, from going away.
    library_->acknowledge(&event);
    if (!reportOf(type, report)) continue;
    if (type == abi::kVerbsDeviceFatal || port == port_) return true;
  }
}

void VerbsEvents::wait(Waker& waker) {
  for (;;) {
    bool armed;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      armed = armed_;
    }
    pollfd fds[2] = {{controlFd_, POLLIN, 0}, {context_->asyncFd, POLLIN, 0}};
    if (poll(fds, armed ? 2 : 1, -1) < 0) continue;
    if (fds[0].revents != 0) {
      uint64_t count;
      [[maybe_unused]] ssize_t got = read(controlFd_, &count, sizeof count);
    }
    if (armed && fds[1].revents != 0) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        armed_ = false;
      }
      waker.wake();
    }
  }
}

}  // namespace rxib::rdma
