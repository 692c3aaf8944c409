#include "rdmacm/strict_fake_rdmacm.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rxib::test {

using rdma::PortReport;
using rdma::abi::CmChannel;
using rdma::abi::CmEvent;
using rdma::abi::CmId;
using rdma::abi::CmJoinAttributes;
using rdmacm::SocketAddress;

namespace {

StrictFakeRdmaCm* current = nullptr;
constexpr int kNotSupportedInside = 524;
constexpr uint32_t kUdpQkey = 0x01234567;

int fail(int error) {
  errno = error;
  return -1;
}

Gid gidIn(const sockaddr* address) {
  const SocketAddress copy(address);
  if (copy.isIp()) return copy.asGid();
  Gid gid;
  std::memcpy(gid.bytes.data(), reinterpret_cast<const rdma::abi::InfiniBandAddress*>(address)->gid,
              16);
  return gid;
}

bool isLinkLocal(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool isWildcard(const Gid& gid) {
  return std::all_of(gid.bytes.begin() + 12, gid.bytes.end(), [](uint8_t b) { return b == 0; }) &&
         gid.bytes[0] == 0;
}

}  // namespace

struct StrictFakeRdmaCm::Id {
  CmId raw{};
  Device* device = nullptr;
  std::string source;
  bool bound = false;
  std::vector<std::unique_ptr<Multicast>> multicasts;
};

struct StrictFakeRdmaCm::Source final : rdma::PortEventSource {
  Source(StrictFakeRdmaCm& owner, std::string name) : fake(owner), device(std::move(name)) {
    fake.source_ = this;
    fake.watchedDevices_.insert(device);
  }
  ~Source() override {
    std::lock_guard<std::mutex> lock(fake.mutex_);
    fake.source_ = nullptr;
    fake.watchedDevices_.erase(device);
  }
  void start(Waker& wake) override {
    std::lock_guard<std::mutex> lock(fake.mutex_);
    waker = &wake;
  }
  bool take(PortReport& report) override {
    std::lock_guard<std::mutex> lock(fake.mutex_);
    if (fake.reports_.empty()) return false;
    report = fake.reports_.front();
    fake.reports_.pop_front();
    return true;
  }
  bool needsGrh() const override { return false; }
  void stop() override {}

  StrictFakeRdmaCm& fake;
  const std::string device;
  Waker* waker = nullptr;
};

StrictFakeRdmaCm::StrictFakeRdmaCm() {
  current = this;
  channel_.fd = eventfd(0, EFD_CLOEXEC);
}

StrictFakeRdmaCm::~StrictFakeRdmaCm() {
  current = nullptr;
  close(channel_.fd);
}

rdma::RdmaCmLibrary StrictFakeRdmaCm::table() {
  rdma::RdmaCmLibrary table{};
  table.getDevices = [](int*) -> void** {
    current->synchronise();
    return new void*[1]{};
  };
  table.freeDevices = [](void** devices) { delete[] devices; };
  table.createChannel = []() -> CmChannel* {
    std::lock_guard<std::mutex> lock(current->mutex_);
    if (current->channelError_ != 0) {
      errno = current->channelError_;
      return nullptr;
    }
    ++current->channels_;
    return &current->channel_;
  };
  table.destroyChannel = [](CmChannel*) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    if (!current->ids_.empty()) current->violate("a channel is destroyed with identifiers on it");
    --current->channels_;
  };
  table.createId = [](CmChannel*, CmId** out, void* context, int portSpace) {
    return current->createId(out, context, portSpace);
  };
  table.destroyId = [](CmId* id) { return current->destroyId(id); };
  table.bindAddress = [](CmId* id, sockaddr* address) { return current->bind(id, address); };
  table.joinMulticast = [](CmId* id, sockaddr* address, void*) {
    return current->join(id, address, false);
  };
  if (extended_) {
    table.joinMulticastExtended = [](CmId* id, CmJoinAttributes* attributes, void*) {
      if ((attributes->mask & rdma::abi::kCmJoinAddress) == 0) return fail(EINVAL);
      const bool sendOnly = (attributes->mask & rdma::abi::kCmJoinFlags) != 0 &&
                            attributes->flags == rdma::abi::kCmSendOnlyFullMember;
      return current->join(id, attributes->address, sendOnly);
    };
  }
  table.leaveMulticast = [](CmId* id, sockaddr* address) { return current->leave(id, address); };
  table.getEvent = [](CmChannel*, CmEvent** event) { return current->getEvent(event); };
  table.acknowledge = [](CmEvent* event) { return current->acknowledge(event); };
  return table;
}

rdmacm::System StrictFakeRdmaCm::system() {
  rdmacm::System system;
  system.library = std::make_shared<rdma::RdmaCmLibrary>(table());
  rdma::VerbsLibrary verbs{};
  verbs.getDeviceName = [](rdma::abi::VerbsDevice* device) {
    return reinterpret_cast<const std::string*>(device)->c_str();
  };
  system.verbs = std::make_shared<rdma::VerbsLibrary>(verbs);
  system.events = [this](const std::string& device, uint8_t) {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::unique_ptr<rdma::PortEventSource>(new Source(*this, device));
  };
  system.ports = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<rdmacm::ReachablePort> list;
    for (const auto& device : devices_) {
      if (device->present) list.push_back({device->info, device->addresses});
    }
    return list;
  };
  system.gid = [](const std::string&, uint8_t, int index) {
    Gid gid;
    gid.bytes[0] = 0xfe;
    gid.bytes[15] = static_cast<uint8_t>(index);
    return std::optional<Gid>(gid);
  };
  return system;
}

void StrictFakeRdmaCm::addDevice(const std::string& name, LinkLayer layer,
                                 const std::vector<std::string>& addresses, uint16_t pkey) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto device = std::make_unique<Device>();
    device->name = name;
    device->pkey = pkey;
    device->info.device = name;
    device->info.port = 1;
    device->info.state.phase = PortPhase::kActive;
    device->info.state.linkLayer = layer;
    device->info.state.gid.bytes[0] = 0xfe;
    device->info.state.pkeys = {0xffff};
    device->verbs.device = reinterpret_cast<rdma::abi::VerbsDevice*>(&device->name);
    devices_.push_back(std::move(device));
  }
  for (const std::string& address : addresses) addAddress(name, address);
}

void StrictFakeRdmaCm::addAddress(const std::string& device, const std::string& address) {
  std::lock_guard<std::mutex> lock(mutex_);
  deviceOf(device)->addresses.push_back(*SocketAddress::parse(address));
}

void StrictFakeRdmaCm::flushAddresses(const std::string& device) {
  std::lock_guard<std::mutex> lock(mutex_);
  deviceOf(device)->addresses.clear();
}

void StrictFakeRdmaCm::renameDevice(const std::string& name, const std::string& other) {
  std::lock_guard<std::mutex> lock(mutex_);
  Device* device = deviceOf(name);
  device->name = device->info.device = other;
}

void StrictFakeRdmaCm::removeDevice(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  Device* device = deviceOf(name);
  device->present = false;
  for (auto& id : ids_) {
    if (id->device == device) queue(*id, rdma::abi::kCmDeviceRemoval, 0, nullptr);
  }
}

bool StrictFakeRdmaCm::released(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Device* device = deviceOf(name);
  const bool bound = std::any_of(ids_.begin(), ids_.end(),
                                 [device](const auto& id) { return id->device == device; });
  return !device->present && !bound && !device->openInLibrary && watchedDevices_.count(name) == 0;
}

void StrictFakeRdmaCm::synchronise() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& device : devices_) {
    const bool bound = std::any_of(ids_.begin(), ids_.end(),
                                   [&](const auto& id) { return id->device == device.get(); });
    if (!device->present && !bound) device->openInLibrary = false;
    if (device->present) device->openInLibrary = true;
  }
}

void StrictFakeRdmaCm::answerAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& id : ids_) {
    for (auto& multicast : id->multicasts) {
      if (!multicast->answered) answer(*id, *multicast);
    }
  }
}

void StrictFakeRdmaCm::refuseJoins(int raw) {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_ = true;
  refusal_ = raw;
}

void StrictFakeRdmaCm::acceptJoins() {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_ = false;
}

void StrictFakeRdmaCm::lose(const Gid& group, int raw) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& id : ids_) {
    for (auto& multicast : id->multicasts) {
      if (multicast->group != group || !multicast->joined) continue;
      multicast->joined = false;
      multicast->failed = true;
      queue(*id, rdma::abi::kCmMulticastError, raw, multicast.get());
    }
  }
}

void StrictFakeRdmaCm::changeAddress(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& id : ids_) {
    if (id->device == deviceOf(name)) queue(*id, rdma::abi::kCmAddressChange, 0, nullptr);
  }
}

void StrictFakeRdmaCm::report(PortReport report) {
  Waker* waker = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    reports_.push_back(report);
    if (source_ != nullptr) waker = source_->waker;
  }
  if (waker != nullptr) waker->wake();
}

bool StrictFakeRdmaCm::watched() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return source_ != nullptr;
}

std::vector<StrictFakeRdmaCm::Member> StrictFakeRdmaCm::members() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Member> list;
  for (const auto& id : ids_) {
    for (const auto& multicast : id->multicasts) {
      if (multicast->failed) continue;
      list.push_back({id->device->name, multicast->group, id->raw.portSpace, multicast->sendOnly,
                      multicast->byMgid, id->source});
    }
  }
  return list;
}

size_t StrictFakeRdmaCm::identifiers() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return ids_.size();
}

size_t StrictFakeRdmaCm::channels() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return channels_;
}

std::vector<std::string> StrictFakeRdmaCm::violations() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return violations_;
}

int StrictFakeRdmaCm::createId(CmId** out, void* context, int portSpace) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (portSpace != rdma::abi::kCmPortSpaceUdp && portSpace != rdma::abi::kCmPortSpaceIpoib) {
    violate("a port space that is not of datagrams");
  }
  auto id = std::make_unique<Id>();
  id->raw.channel = &channel_;
  id->raw.context = context;
  id->raw.portSpace = portSpace;
  *out = &id->raw;
  ids_.push_back(std::move(id));
  return 0;
}

int StrictFakeRdmaCm::destroyId(CmId* raw) {
  std::lock_guard<std::mutex> lock(mutex_);
  Id* id = find(raw, "destroy");
  if (id == nullptr) return fail(EINVAL);
  if (unacknowledged(id, 0)) violate("destroying waits for ever: an event is not acknowledged");
  if (!id->multicasts.empty()) violate("destroying leaks what the library keeps of a join");
  dropQueued(id, 0);
  ids_.erase(std::find_if(ids_.begin(), ids_.end(), [id](auto& one) { return one.get() == id; }));
  return 0;
}

int StrictFakeRdmaCm::bind(CmId* raw, const sockaddr* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  Id* id = find(raw, "bind");
  if (id == nullptr || id->bound) return fail(EINVAL);
  const SocketAddress wanted(address);
  if (!wanted.isIp() && wanted.family() != rdma::abi::kAddressFamilyInfiniBand) {
    return fail(EAFNOSUPPORT);
  }
  if (wanted.isIp() && isWildcard(wanted.asGid())) {
    id->bound = true;
    return 0;
  }
  if (isLinkLocal(address) && reinterpret_cast<const sockaddr_in6*>(address)->sin6_scope_id == 0) {
    return fail(EINVAL);
  }
  for (auto& device : devices_) {
    if (!device->present || !holdsAddress(*device, wanted)) continue;
    id->bound = true;
    id->device = device.get();
    id->source = wanted.text();
    id->raw.verbs = &device->verbs;
    id->raw.port = 1;
    id->raw.route.address.pkey = htons(device->pkey);
    device->openInLibrary = true;
    if (flushAfterBind_ == device->name) device->addresses.clear();
    return 0;
  }
  return fail(EADDRNOTAVAIL);
}

bool StrictFakeRdmaCm::holdsAddress(const Device& device, const SocketAddress& address) const {
  if (!address.isIp()) return device.info.state.linkLayer == LinkLayer::kInfiniBand;
  return std::find(device.addresses.begin(), device.addresses.end(), address) !=
         device.addresses.end();
}

int StrictFakeRdmaCm::join(CmId* raw, const sockaddr* address, bool sendOnly) {
  std::lock_guard<std::mutex> lock(mutex_);
  Id* id = find(raw, "join");
  if (id == nullptr || id->device == nullptr) return fail(EINVAL);
  if (joinError_ != 0) return fail(joinError_);
  if (!id->device->present) return fail(ENXIO);
  const SocketAddress group(address);
  const bool byMgid = group.family() == rdma::abi::kAddressFamilyInfiniBand;
  if (!group.isIp() && !byMgid) return fail(EINVAL);
  if (group.isIp() && isWildcard(group.asGid())) return fail(EINVAL);
  const bool ethernet = id->device->info.state.linkLayer == LinkLayer::kEthernet;
  if (ethernet && byMgid) violate("on Ethernet an MGID is read as an IPv4 address");
  if (ethernet && group.family() == AF_INET6) return fail(kNotSupportedInside);
  auto multicast = std::make_unique<Multicast>();
  multicast->serial = ++lastSerial_;
  multicast->group = gidIn(address);
  multicast->sendOnly = sendOnly;
  multicast->byMgid = byMgid;
  id->multicasts.push_back(std::move(multicast));
  if (!held_) answer(*id, *id->multicasts.back());
  return 0;
}

void StrictFakeRdmaCm::answer(Id& id, Multicast& multicast) {
  multicast.answered = true;
  if (refused_) {
    multicast.failed = true;
    queue(id, rdma::abi::kCmMulticastError, refusal_, &multicast);
  } else if (SocketAddress::parse(id.source) &&
             !holdsAddress(*id.device, *SocketAddress::parse(id.source)) &&
             id.device->info.state.linkLayer == LinkLayer::kEthernet) {
    multicast.failed = true;
    queue(id, rdma::abi::kCmMulticastError, 0, &multicast);
  } else {
    multicast.joined = true;
    queue(id, rdma::abi::kCmMulticastJoin, 0, &multicast);
  }
}

int StrictFakeRdmaCm::leave(CmId* raw, const sockaddr* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  Id* id = find(raw, "leave");
  if (id == nullptr) return fail(EINVAL);
  const Gid group = gidIn(address);
  auto found = std::find_if(id->multicasts.begin(), id->multicasts.end(),
                            [&](const auto& one) { return one->group == group; });
  if (found == id->multicasts.end()) return fail(EADDRNOTAVAIL);
  const uint64_t serial = (*found)->serial;
  if (unacknowledged(id, serial)) violate("leaving waits for ever: an event is not acknowledged");
  // An event that nobody has read never comes.
  dropQueued(id, serial);
  id->multicasts.erase(found);
  if (leaveError_ != 0) return fail(leaveError_);
  return id->device != nullptr && !id->device->present ? fail(ENXIO) : 0;
}

int StrictFakeRdmaCm::getEvent(CmEvent** out) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queued_.empty()) {
    uint64_t count = 0;
    [[maybe_unused]] ssize_t got = read(channel_.fd, &count, sizeof count);
    return fail(EAGAIN);
  }
  taken_.push_back(std::move(queued_.front()));
  queued_.pop_front();
  *out = &taken_.back()->event;
  return 0;
}

int StrictFakeRdmaCm::acknowledge(CmEvent* event) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find_if(taken_.begin(), taken_.end(),
                            [event](const auto& one) { return &one->event == event; });
  if (found == taken_.end()) {
    violate("an event is acknowledged twice");
    return fail(EINVAL);
  }
  // Whoever looks at it from now on sees that it is gone.
  std::memset(event, 0xa5, sizeof *event);
  taken_.erase(found);
  return 0;
}

void StrictFakeRdmaCm::queue(Id& id, int type, int status, const Multicast* multicast) {
  auto event = std::make_unique<Event>();
  event->event.id = &id.raw;
  event->event.type = type;
  event->event.status = status;
  if (multicast != nullptr) {
    event->multicast = multicast->serial;
    auto& datagram = event->event.datagram;
    const bool ethernet = id.device->info.state.linkLayer == LinkLayer::kEthernet;
    const Gid mgid = multicast->group.isZero() ? assigned_ : multicast->group;
    std::memcpy(datagram.address.route.destinationGid, mgid.bytes.data(), 16);
    datagram.address.route.sourceGidIndex = 3;
    datagram.address.route.hopLimit = 64;
    datagram.address.route.flowLabel = 5;
    datagram.address.route.trafficClass = 6;
    datagram.address.isGlobal = 1;
    datagram.address.port = 1;
    datagram.address.sl = 2;
    datagram.address.lid = ethernet ? 0 : 0xc007;
    datagram.address.staticRate = ethernet ? 0 : 3;
    datagram.queuePairNumber = 0xffffff;
    datagram.qkey = kUdpQkey;
  }
  queued_.push_back(std::move(event));
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(channel_.fd, &one, sizeof one);
}

void StrictFakeRdmaCm::dropQueued(const Id* id, uint64_t multicast) {
  queued_.erase(std::remove_if(queued_.begin(), queued_.end(),
                               [&](const auto& event) {
                                 return event->event.id == &id->raw &&
                                        (multicast == 0 || event->multicast == multicast);
                               }),
                queued_.end());
}

bool StrictFakeRdmaCm::unacknowledged(const Id* id, uint64_t multicast) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const auto& event) {
    return event->event.id == &id->raw && (multicast == 0 || event->multicast == multicast);
  });
}

StrictFakeRdmaCm::Id* StrictFakeRdmaCm::find(CmId* raw, const char* what) {
  for (auto& id : ids_) {
    if (&id->raw == raw) return id.get();
  }
  violate(std::string(what) + ": an identifier that does not exist");
  return nullptr;
}

StrictFakeRdmaCm::Device* StrictFakeRdmaCm::deviceOf(const std::string& name) const {
  for (const auto& device : devices_) {
    if (device->name == name) return device.get();
  }
  return nullptr;
}

}  // namespace rxib::test
