#include "core/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/status.h"

namespace rxib {

int descriptorShortage() {
  const int fd = open("/", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return kOk;
  }
  if (errno == EMFILE) return kEMFILE;
  return errno == ENFILE ? kENFILE : kOk;
}

std::string shortageMessage(int status) {
  return status == kEMFILE ? "the process has as many files open as it may: close some, or raise "
                             "its limit (ulimit -n)"
                           : "the system has as many files open as it may (fs.file-max)";
}

}  // namespace rxib
