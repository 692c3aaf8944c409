#include "rdmacm/client.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/descriptors.h"
#include "core/status.h"

namespace rxib::rdmacm {
namespace {

using rdma::PortReport;
using rdma::abi::CmEvent;

// Of the guard; handles start at 1.
constexpr HandleId kGuard = 0;
constexpr uint16_t kDefaultPkey = 0xffff;

ResetReason reasonOf(PortReport report) {
  switch (report) {
    case PortReport::kPortError:
      return ResetReason::kPortError;
    case PortReport::kLidChange:
      return ResetReason::kLidChange;
    case PortReport::kSmChange:
      return ResetReason::kSmChange;
    case PortReport::kPkeyChange:
      return ResetReason::kPkeyChange;
    case PortReport::kGidChange:
      return ResetReason::kGidChange;
    case PortReport::kClientReregister:
      return ResetReason::kClientReregister;
    case PortReport::kDeviceFatal:
      return ResetReason::kDeviceRemoved;
    case PortReport::kPortActive:
      break;
  }
  return ResetReason::kNone;
}

/**
 * What the kernel says with MULTICAST_ERROR is a status most of the time. 0 and -1 are seen as
 * well: they say that the join failed and nothing about why.
 */
bool saysWhy(int raw) { return raw < -1 || raw > 1; }

}  // namespace

Client::Client(System system, Options options, PortStats& stats)
    : system_(std::move(system)), options_(std::move(options)), stats_(stats) {}

Client::~Client() { close(); }

void Client::close() {
  reports_.reset();
  handles_.clear();
  guard_.reset();
  if (channel_ != nullptr) system_.library->destroyChannel(std::exchange(channel_, nullptr));
}

const ReachablePort* Client::look() {
  seen_ = system_.ports();
  for (const ReachablePort& port : seen_) {
    if (port.info.device == options_.device && port.info.port == options_.port) return &port;
  }
  return nullptr;
}

Verdict Client::open() {
  const ReachablePort* port = look();
  if (port == nullptr) {
    if (const int status = descriptorShortage()) return {status, shortageMessage(status)};
    return {kENODEV, "there is no port " + std::to_string(options_.port) + " of an RDMA device " +
                         options_.device + "; there are: " + describePorts(seen_)};
  }
  state_ = port->info.state;
  channel_ = system_.library->createChannel();
  if (channel_ == nullptr) return channelFailure(errno);
  const int flags = fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return channelFailure(errno);
  }
  return {};
}

void Client::watch(Waker& waker) {
  lookForAddresses();
  standGuard();
  reports_ = system_.events ? system_.events(options_.device, options_.port) : nullptr;
  if (reports_ != nullptr) reports_->start(waker);
}

int Client::fd() const { return channel_->fd; }

int Client::lookForAddresses() {
  const ReachablePort* port = look();
  addresses_ = port == nullptr ? std::vector<SocketAddress>{} : port->addresses;
  int status = addresses_.empty() ? descriptorShortage() : kOk;
  if (port == nullptr && status == kOk) status = kENODEV;
  if (addresses_.empty() && state_.linkLayer == LinkLayer::kInfiniBand) {
    const uint16_t pkey = state_.pkeys.empty() ? kDefaultPkey : state_.pkeys.front();
    addresses_.push_back(SocketAddress::infiniBand(state_.gid, pkey));
  }
  return status;
}

void Client::standGuard() {
  if (guard_ || removed_) return;
  for (const SocketAddress& address : addresses_) {
    if (guard_.create(system_, channel_, kGuard, options_.portSpace) == kOk &&
        guard_.bind(address) == kOk && guard_.at(options_.device, options_.port)) {
      return;
    }
    guard_.reset();
  }
}

void Client::attach(CompletionSink* sink) { sinks_.push_back(sink); }

void Client::detach(CompletionSink* sink) {
  sinks_.erase(std::remove(sinks_.begin(), sinks_.end(), sink), sinks_.end());
  std::vector<HandleId> own;
  for (const auto& [id, handle] : handles_) {
    if (handle.sink == sink) own.push_back(id);
  }
  for (HandleId id : own) {
    free(id);
    ++stats_.handlesFreed;
    --stats_.handlesAlive;
  }
}

void Client::join(HandleId id, const JoinSpec& spec, CompletionSink* sink) {
  Handle& handle = handles_[id];
  handle.id = id;
  handle.sink = sink;
  handle.joinState = spec.bits();
  handle.mgid = spec.group.isZero() ? spec.record.mgid : spec.group;
  const int status = start(handle, spec);
  if (status == kOk) return;
  Completion completion;
  completion.status = status;
  end(handle, std::move(completion));
}

int Client::start(Handle& handle, const JoinSpec& spec) {
  if (removed_) return kENODEV;
  const bool byMgid = spec.group.isZero();
  // On Ethernet the kernel reads whatever is no IPv6 address as an IPv4 address.
  if (byMgid && state_.linkLayer == LinkLayer::kEthernet) return kEOPNOTSUPP;
  const SocketAddress group =
      byMgid ? SocketAddress::infiniBand(spec.record.mgid, 0) : SocketAddress::ip(spec.group);
  auto source = sourceFor(group);
  int status = source ? begin(handle, *source, group) : kEADDRNOTAVAIL;
  if (status == kEADDRNOTAVAIL || status == kENODEV) {
    // Addresses come and go, and devices get other names, and nobody tells.
    const int found = lookForAddresses();
    standGuard();
    auto other = sourceFor(group);
    if (found != kOk) {
      // A shortage of descriptors passes, and outages are when they run short.
      status = found == kENODEV ? found : static_cast<int>(kEADDRNOTAVAIL);
    } else if (other && !(source && *other == *source)) {
      status = begin(handle, *other, group);
    }
  }
  // The kernel's word for an identifier whose device has gone.
  return status == kENXIO ? static_cast<int>(kENODEV) : status;
}

int Client::begin(Handle& handle, const SocketAddress& source, const SocketAddress& group) {
  Identifier& id = handle.identifier;
  int status = id.create(system_, channel_, handle.id, options_.portSpace);
  if (status == kOk) status = id.bind(source);
  if (status == kOk && !id.at(options_.device, options_.port)) status = kEADDRNOTAVAIL;
  if (status == kOk) status = id.join(group, handle.joinState == kSendOnlyFullMember);
  if (status == kOk) {
    ++stats_.joinsSent;
    ++stats_.groups;
  } else {
    id.reset();
  }
  return status;
}

std::optional<SocketAddress> Client::sourceFor(const SocketAddress& group) const {
  if (options_.source) {
    // A link-local address is nothing without its interface, which users leave out.
    for (const SocketAddress& address : addresses_) {
      if (address == *options_.source) return address;
    }
    return options_.source;
  }
  for (const SocketAddress& address : addresses_) {
    // An MGID can be joined through any interface of the port.
    if (!group.isIp() || address.family() == group.family()) return address;
  }
  return std::nullopt;
}

bool Client::free(HandleId id) {
  auto found = handles_.find(id);
  if (found == handles_.end()) return false;
  Handle& handle = found->second;
  if (handle.phase != Handle::Phase::kOver) {
    ++stats_.leavesSent;
    const int status = handle.identifier.leave();
    // Without its device, a membership has ended by itself.
    if (status != kOk && status != kENXIO && status != kENODEV) {
      ++stats_.leavesFailed;
      Diagnostic diagnostic{};
      diagnostic.kind = DiagnosticKind::kLeaveFailed;
      diagnostic.mgid = handle.mgid;
      diagnostic.status = status;
      diagnose(diagnostic);
    }
    dispose(handle);
  }
  handles_.erase(found);
  return true;
}

void Client::takeEvents() {
  for (;;) {
    CmEvent* event = nullptr;
    if (system_.library->getEvent(channel_, &event) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    const Event copy{event->type, event->status,
                     static_cast<HandleId>(reinterpret_cast<uintptr_t>(event->id->context)),
                     event->datagram.address, event->datagram.qkey};
    system_.library->acknowledge(event);
    on(copy);
  }
}

void Client::on(const Event& event) {
  if (event.type == rdma::abi::kCmDeviceRemoval) {
    removeDevice();
    return;
  }
  if (event.handle == kGuard) {
    if (event.type != rdma::abi::kCmAddressChange) return;
    // The old one stands until there is a new one: the device may be removed just now.
    Identifier old = std::move(guard_);
    lookForAddresses();
    standGuard();
    if (!guard_) guard_ = std::move(old);
    return;
  }
  auto found = handles_.find(event.handle);
  if (found == handles_.end() || found->second.phase == Handle::Phase::kOver) return;
  Handle& handle = found->second;
  Completion completion;
  switch (event.type) {
    case rdma::abi::kCmMulticastJoin:
      if (event.status == 0) {
        joined(handle, event);
        return;
      }
      [[fallthrough]];
    case rdma::abi::kCmMulticastError:
      if (handle.phase == Handle::Phase::kJoined) {
        completion.status = kENETRESET;
        completion.reason = ResetReason::kGroupError;
        completion.cause = event.status;
      } else if (saysWhy(event.status)) {
        completion.status = event.status;
      } else {
        completion.status = kEIO;
        completion.cause = event.status;
      }
      end(handle, std::move(completion));
      return;
    case rdma::abi::kCmAddressChange:
      completion.status = kENETRESET;
      completion.reason = ResetReason::kAddressChange;
      end(handle, std::move(completion));
      lookForAddresses();
      return;
    default:
      return;
  }
}

void Client::joined(Handle& handle, const Event& event) {
  if (handle.phase != Handle::Phase::kJoining) return;
  handle.phase = Handle::Phase::kJoined;
  const rdma::abi::AddressAttributes& address = event.address;
  McMemberRecord record;
  std::memcpy(record.mgid.bytes.data(), address.route.destinationGid, 16);
  record.mlid = address.lid;
  record.qkey = event.qkey;
  record.sl = address.sl;
  record.flowLabel = address.route.flowLabel;
  record.hopLimit = address.route.hopLimit;
  record.trafficClass = address.route.trafficClass;
  record.rate = address.staticRate;
  record.joinState = handle.joinState;
  record.pkey = handle.identifier.pkey();
  if (state_.linkLayer == LinkLayer::kEthernet || record.pkey == 0) record.pkey = kDefaultPkey;
  if (record.mgid.bytes[0] == 0xff) record.scope = record.mgid.bytes[1] & 0xf;
  if (auto gid = system_.gid(options_.device, options_.port, address.route.sourceGidIndex)) {
    record.portGid = *gid;
  }
  handle.mgid = record.mgid;
  ++stats_.joined;
  Completion completion;
  completion.handle = handle.id;
  completion.record = record;
  completion.addressHandle =
      AddressHandle{address.port, address.route.sourceGidIndex, address.staticRate};
  handle.sink->complete(std::move(completion));
}

void Client::end(Handle& handle, Completion completion) {
  if (completion.status == kENETRESET) ++stats_.resets;
  if (handle.phase == Handle::Phase::kJoining) ++stats_.failed;
  handle.phase = Handle::Phase::kOver;
  // At once, and not when the user frees: an identifier keeps its device from being removed.
  dispose(handle);
  completion.handle = handle.id;
  handle.sink->complete(std::move(completion));
}

void Client::dispose(Handle& handle) {
  if (!handle.identifier) return;
  handle.identifier.reset();
  --stats_.groups;
}

void Client::removeDevice() {
  if (removed_) return;
  removed_ = true;
  state_.phase = PortPhase::kDown;
  ++stats_.portEvents;
  Diagnostic diagnostic{};
  diagnostic.kind = DiagnosticKind::kPortEvent;
  diagnostic.reason = ResetReason::kDeviceRemoved;
  diagnose(diagnostic);
  // The removal waits for all that has the device open: the members, the guard and the listener.
  reports_.reset();
  for (auto& [id, handle] : handles_) {
    if (handle.phase == Handle::Phase::kOver) continue;
    Completion completion;
    completion.status = kENETRESET;
    completion.reason = ResetReason::kDeviceRemoved;
    end(handle, std::move(completion));
  }
  guard_.reset();
  // The library closes a device of its own only when it notices, in passing, that there is no such
  // device any more; asked for the list of devices, it looks.
  if (void** devices = system_.library->getDevices(nullptr)) {
    system_.library->freeDevices(devices);
  }
}

void Client::takePortReports() {
  PortReport report;
  while (reports_ != nullptr && reports_->take(report)) {
    ++stats_.portEvents;
    if (const ReachablePort* port = look()) state_ = port->info.state;
    Diagnostic diagnostic{};
    diagnostic.kind = DiagnosticKind::kPortEvent;
    diagnostic.reason = reasonOf(report);
    diagnose(diagnostic);
    // Members are told by the connection manager; the listener must not stand in the way.
    if (report == PortReport::kDeviceFatal) reports_.reset();
  }
}

void Client::diagnose(const Diagnostic& diagnostic) {
  for (CompletionSink* sink : sinks_) sink->diagnose(diagnostic);
}

}  // namespace rxib::rdmacm
