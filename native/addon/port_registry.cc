#include "addon/port_registry.h"

#include <utility>

#include "core/status.h"
#if RXIB_WITH_RDMA
#include "rdmacm/channel.h"
#endif

namespace rxib::addon {

namespace {

std::string nameOf(sa::Probe probe) {
  switch (probe) {
    case sa::Probe::kAlways:
      return "'always'";
    case sa::Probe::kNever:
      return "'never'";
    case sa::Probe::kIpoib:
      break;
  }
  return "'ipoib'";
}

}  // namespace

std::string PortSettings::differenceFrom(const PortSettings& other) const {
  std::string text;
  auto say = [&text](const char* name, const std::string& mine, const std::string& theirs) {
    if (mine == theirs) return;
    if (!text.empty()) text += ", ";
    text += std::string(name) + " " + mine + " instead of " + theirs;
  };
  auto differ = [&say](const char* name, auto mine, auto theirs) {
    say(name, std::to_string(mine), std::to_string(theirs));
  };
  auto ms = [](Duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  };
  differ("requestTimeoutMs", ms(sa.requestTimeout), ms(other.sa.requestTimeout));
  differ("attempts", sa.attempts, other.sa.attempts);
  differ("maxOutstanding", sa.maxOutstanding, other.sa.maxOutstanding);
  differ("auditIntervalMs", ms(sa.auditInterval), ms(other.sa.auditInterval));
  differ("staleLeaveMs", ms(sa.staleLeave), ms(other.sa.staleLeave));
  say("probe", nameOf(sa.probe), nameOf(other.sa.probe));
  differ("pollIntervalMs", ms(pollInterval), ms(other.pollInterval));
  return text;
}

PortRegistry& PortRegistry::instance() {
#if RXIB_WITH_RDMA
  static PortRegistry* registry = new PortRegistry(
      [](const std::string& device, uint8_t port, const umad::OpenOptions& options) {
        return umad::open(device, port, options);
      });
#else
  static PortRegistry* registry = new PortRegistry;
#endif
  return *registry;
}

OpenResult PortRegistry::openUmad(const std::string& device, uint8_t port,
                                  const PortSettings& settings) {
#if RXIB_WITH_RDMA
  const std::string name = device + ":" + std::to_string(port);
  std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[name];
  if (auto open = entry.port.lock(); open != nullptr && !open->removed()) {
    const std::string difference = settings.differenceFrom(entry.settings);
    if (difference.empty()) return {open, kOk, {}};
    return {nullptr, kEBUSY,
            "port " + std::to_string(port) + " of " + device +
                " is already open in this process with other options (" + difference +
                "): the first opener decides, so use the same options or the same provider"};
  }
  umad::OpenOptions options;
  options.pollInterval = settings.pollInterval;
  auto opened = umadOpener_(device, port, options);
  if (opened.transport == nullptr) return {nullptr, opened.status, opened.message};
  auto result = std::make_shared<OpenSaPort>(std::move(opened.transport), settings.sa);
  entry.port = result;
  entry.settings = settings;
  return {result, kOk, {}};
#else
  (void)device;
  (void)port;
  (void)settings;
  return {nullptr, kEOPNOTSUPP, "this build has no umad provider: it exists on Linux only"};
#endif
}

OpenResult PortRegistry::openRdmaCm(const std::string& device, uint8_t port, bool ipoib,
                                    const std::string& source) {
#if RXIB_WITH_RDMA
  rdmacm::Options options;
  options.device = device;
  options.port = port;
  options.portSpace = ipoib ? rdma::abi::kCmPortSpaceIpoib : rdma::abi::kCmPortSpaceUdp;
  if (!source.empty()) {
    options.source = rdmacm::SocketAddress::parse(source);
    if (!options.source) return {nullptr, kEINVAL, source + " is no IP address"};
  }
  const std::string name =
      "rdmacm:" + device + ":" + std::to_string(port) + (ipoib ? ":ipoib:" : ":udp:") + source;
  std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[name];
  auto open = entry.port.lock();
  if (open != nullptr && !open->removed()) return {open, kOk, {}};
  auto opened = rdmacm::Channel::open(std::move(options));
  if (opened.channel == nullptr) {
    return {nullptr, opened.verdict.status, opened.verdict.message};
  }
  auto result = std::make_shared<OpenChannel>(std::move(opened.channel));
  entry.port = result;
  return {result, kOk, {}};
#else
  (void)device;
  (void)port;
  (void)ipoib;
  (void)source;
  return {nullptr, kEOPNOTSUPP, "this build has no rdmacm provider: it exists on Linux only"};
#endif
}

std::vector<std::shared_ptr<OpenPort>> PortRegistry::openPorts() {
  std::vector<std::shared_ptr<OpenPort>> open;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, entry] : entries_) {
    if (auto port = entry.port.lock()) open.push_back(std::move(port));
  }
  return open;
}

}  // namespace rxib::addon
