#include "umad/strict_fake_umad.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "codec/byte_order.h"

namespace rxib::test {
namespace {

using codec::read16;
using codec::read32;
using codec::read64;
using codec::write16;
using codec::write32;
using rdma::abi::UmadAddress;
using rdma::abi::UmadDevice;
using rdma::abi::UmadPort;

constexpr int kFirstPortFd = 7;
constexpr uint8_t kResponseBit = 0x80;
constexpr uint8_t kSmpClass = 0x81;
constexpr int kReport = 0x06;

StrictFakeUmad* current = nullptr;

/** The part of the header in front of the address; both generations of it begin so. */
struct Header {
  uint32_t agent;
  uint32_t status;
  uint32_t timeoutMs;
  uint32_t retries;
  uint32_t length;
};

Header* header(void* buffer) { return static_cast<Header*>(buffer); }
UmadAddress* addressOf(void* buffer) {
  return reinterpret_cast<UmadAddress*>(static_cast<uint8_t*>(buffer) + sizeof(Header));
}

void fillPort(const PortInfo& info, UmadPort& out) {
  std::memset(&out, 0, sizeof out);
  std::snprintf(out.deviceName, sizeof out.deviceName, "%s", info.device.c_str());
  out.number = info.port;
  out.baseLid = info.state.lid;
  out.smLid = info.state.smLid;
  out.smSl = info.state.smSl;
  out.state = static_cast<unsigned>(info.state.phase);
  std::memcpy(&out.gidPrefix, info.state.gid.bytes.data(), 8);
  std::memcpy(&out.portGuid, info.state.gid.bytes.data() + 8, 8);
  out.pkeyCount = static_cast<unsigned>(info.state.pkeys.size());
  out.pkeys = static_cast<uint16_t*>(std::calloc(info.state.pkeys.size() + 1, sizeof(uint16_t)));
  std::copy(info.state.pkeys.begin(), info.state.pkeys.end(), out.pkeys);
  const char* layer = info.state.linkLayer == LinkLayer::kEthernet ? "Ethernet" : "InfiniBand";
  std::snprintf(out.linkLayer, sizeof out.linkLayer, "%s", layer);
}

}  // namespace

uint64_t StrictFakeUmad::Sent::transactionId() const { return read64(mad.data() + 8); }

StrictFakeUmad::StrictFakeUmad(size_t headerSize)
    : headerSize_(headerSize), library_(std::make_shared<rdma::UmadLibrary>(table())) {
  if (current != nullptr) std::abort();
  current = this;
}

StrictFakeUmad::~StrictFakeUmad() { current = nullptr; }

bool StrictFakeUmad::gone(int port) const { return port != kFirstPortFd + removals_; }

rdma::UmadLibrary StrictFakeUmad::table() {
  rdma::UmadLibrary t{};
  t.init = [] { return current->initFails_ ? -1 : 0; };
  t.getDeviceNames = [](char names[][rdma::abi::kUmadNameLength], int max) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    std::vector<std::string> seen;
    for (const PortInfo& info : current->ports_) {
      if (std::find(seen.begin(), seen.end(), info.device) == seen.end()) {
        seen.push_back(info.device);
      }
    }
    int count = 0;
    for (const std::string& name : seen) {
      if (count == max) break;
      std::snprintf(names[count++], rdma::abi::kUmadNameLength, "%s", name.c_str());
    }
    return count;
  };
  t.getDevice = [](const char* name, UmadDevice* device) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    std::memset(device, 0, sizeof *device);
    for (const PortInfo& info : current->ports_) {
      if (info.device != name) continue;
      device->ports[info.port] = static_cast<UmadPort*>(std::calloc(1, sizeof(UmadPort)));
      fillPort(info, *device->ports[info.port]);
      ++device->portCount;
    }
    return device->portCount > 0 ? 0 : -ENODEV;
  };
  t.releaseDevice = [](UmadDevice* device) {
    for (UmadPort* port : device->ports) {
      if (port != nullptr) std::free(port->pkeys);
      std::free(port);
    }
    return 0;
  };
  t.getPort = [](const char* name, int number, UmadPort* port) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    for (const PortInfo& info : current->ports_) {
      if (info.device != name || info.port != number) continue;
      fillPort(info, *port);
      return 0;
    }
    return -EIO;
  };
  t.releasePort = [](UmadPort* port) {
    std::free(port->pkeys);
    return 0;
  };
  t.openPort = [](const char*, int) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    if (current->openError_ != 0) {
      errno = current->openError_;
      return -EIO;
    }
    const int port = kFirstPortFd + current->removals_;
    if (!current->openPorts_.insert(port).second) current->violate("a port was opened twice");
    return port;
  };
  t.closePort = [](int port) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    if (current->openPorts_.erase(port) == 0) current->violate("closed what was not open");
    if (current->receiving_.count(port) != 0)
      current->violate("closed while a receive was waiting");
    for (const auto& [id, agent] : current->agents_) {
      if (agent.port == port) current->violate("closed with an agent registered");
    }
    if (!current->gone(port) && !current->inbox_.empty()) {
      current->violate("closed with messages unread");
    }
    return 0;
  };
  t.headerSize = [] { return current->headerSize_; };
  t.mad = [](void* buffer) -> void* {
    return static_cast<uint8_t*>(buffer) + current->headerSize_;
  };
  t.status = [](void* buffer) { return static_cast<int>(header(buffer)->status); };
  t.address = [](void* buffer) { return addressOf(buffer); };
  t.setAddress = [](void* buffer, int lid, int qpn, int sl, int qkey) {
    UmadAddress& address = *addressOf(buffer);
    address.lid = htons(static_cast<uint16_t>(lid));
    address.qpn = htonl(static_cast<uint32_t>(qpn));
    address.qkey = htonl(static_cast<uint32_t>(qkey));
    address.sl = static_cast<uint8_t>(sl);
    return 0;
  };
  t.setPkey = [](void* buffer, int index) {
    // The older header ends before this field.
    if (current->headerSize_ == 64) addressOf(buffer)->pkeyIndex = static_cast<uint16_t>(index);
    return 0;
  };
  t.setGrh = [](void* buffer, void* route) {
    UmadAddress& address = *addressOf(buffer);
    const auto& from = *static_cast<UmadAddress*>(route);
    address.grhPresent = 1;
    std::memcpy(address.gid, from.gid, sizeof address.gid);
    address.hopLimit = from.hopLimit;
    address.trafficClass = from.trafficClass;
    address.flowLabel = htonl(from.flowLabel);
    return 0;
  };
  t.registerAgent = [](int port, int managementClass, int classVersion, uint8_t rmppVersion,
                       long* methodMask) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    const int version = managementClass == kSmpClass ? 1 : 2;
    if (current->gone(port) || managementClass == current->refusedClass_) return -EINVAL;
    if (classVersion != version) current->violate("wrong class version");
    const bool reports = methodMask != nullptr;
    if (reports) {
      constexpr size_t kLongs = 16 / sizeof(long);
      if (managementClass != codec::kClassSubnAdm || methodMask[0] != 1L << kReport ||
          std::any_of(methodMask + 1, methodMask + kLongs, [](long bits) { return bits != 0; })) {
        current->violate("a method mask would take requests from others");
      }
      if (current->reportsHeld_) {
        errno = EINVAL;
        return -EPERM;
      }
    }
    if (managementClass == kSmpClass && rmppVersion != 0) return -EINVAL;
    for (const auto& [id, agent] : current->agents_) {
      if (agent.port == port && agent.managementClass == managementClass &&
          agent.hasReports == reports) {
        current->violate("a class registered twice");
      }
    }
    current->agents_[++current->nextAgent_] = {port, managementClass, rmppVersion, reports, {}};
    return current->nextAgent_;
  };
  t.unregisterAgent = [](int port, int agent) {
    std::lock_guard<std::mutex> lock(current->mutex_);
    if (current->receiving_.count(port) != 0)
      current->violate("unregistered while a receive was waiting");
    if (current->agents_.erase(agent) == 0) {
      current->violate("unregistered what was not registered");
    }
    return 0;
  };
  t.send = [](int port, int agent, void* buffer, int length, int timeoutMs, int retries) {
    return current->send(port, agent, static_cast<uint8_t*>(buffer), length, timeoutMs, retries);
  };
  t.receive = [](int port, void* buffer, int* length, int timeoutMs) {
    return current->receive(port, static_cast<uint8_t*>(buffer), length, timeoutMs);
  };
  return t;
}

int StrictFakeUmad::send(int port, int agentId, uint8_t* buffer, int length, int timeoutMs,
                         int retries) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto refuse = [](int error) {
    errno = error;
    return -EIO;
  };
  if (openPorts_.count(port) == 0) return refuse(EBADF);
  if (gone(port)) return refuse(EIO);
  auto found = agents_.find(agentId);
  if (found == agents_.end()) return refuse(EINVAL);
  if (length != static_cast<int>(codec::kMadSize)) return refuse(EINVAL);
  Agent& agent = found->second;
  uint8_t* mad = buffer + headerSize_;
  if (mad[1] != agent.managementClass) violate("a MAD of another class than its agent's");
  const UmadAddress& address = *addressOf(buffer);
  Sent request;
  request.lid = ntohs(address.lid);
  request.qpn = ntohl(address.qpn);
  request.qkey = ntohl(address.qkey);
  request.sl = address.sl;
  request.pkeyIndex = headerSize_ == 64 ? address.pkeyIndex : 0;
  request.grh = address.grhPresent != 0;
  request.gid.assign(address.gid, address.gid + 16);
  request.hopLimit = address.hopLimit;
  request.timeoutMs = timeoutMs;
  request.retries = retries;
  if (request.pkeyIndex >= static_cast<int>(live_.pkeys.size())) return refuse(EINVAL);
  if (request.lid == 0) return refuse(EINVAL);
  const uint32_t low = read32(mad + 12);
  const bool isRequest = (mad[3] & kResponseBit) == 0;
  if (isRequest && agent.pending.count(low) != 0) return refuse(EINVAL);
  // The kernel's half of the transaction id.
  if (isRequest) write32(mad + 8, static_cast<uint32_t>(agentId) << 16 | 0xbeef);
  request.mad.assign(mad, mad + length);
  const bool smp = agent.managementClass == kSmpClass;
  if (smp) {
    ++smps_;
  } else {
    sent_.push_back(request);
  }
  // Without a timeout nobody waits for the answer, and it will find no one.
  if (!isRequest || timeoutMs == 0) return 0;
  agent.pending[low] = request;
  if (smp && !smpsMuted_) answerSmp(agentId, request);
  return 0;
}

void StrictFakeUmad::answerSmp(int agentId, const Sent& request) {
  const std::vector<uint8_t>& mad = request.mad;
  if (request.lid != 0xffff || request.qpn != 0 || mad[6] != 0 || mad[7] != 0 ||
      read16(mad.data() + 32) != 0xffff || read16(mad.data() + 34) != 0xffff) {
    violate("not a directed route of no hops");
    return;
  }
  std::vector<uint8_t> answer = mad;
  answer[3] = 0x81;
  answer[4] = 0x80;
  uint8_t* data = answer.data() + 64;
  const uint16_t attribute = read16(mad.data() + 16);
  const uint32_t modifier = read32(mad.data() + 20);
  if (attribute == 0x15) {
    std::copy(live_.gid.bytes.begin(), live_.gid.bytes.begin() + 8, data + 8);
    write16(data + 16, live_.lid);
    write16(data + 18, live_.smLid);
    data[32] = static_cast<uint8_t>(0x10 | static_cast<uint8_t>(live_.phase));
    data[36] = static_cast<uint8_t>(0x40 | live_.smSl);
  } else if (attribute == 0x16 && modifier * 32 < live_.pkeys.size()) {
    for (size_t i = 0; i < 32 && modifier * 32 + i < live_.pkeys.size(); ++i) {
      write16(data + 2 * i, live_.pkeys[modifier * 32 + i]);
    }
  } else {
    answer[5] = 0x1c;
  }
  agents_[agentId].pending.erase(read32(mad.data() + 12));
  queue({agentId, 0, live_.lid, std::move(answer)});
}

void StrictFakeUmad::queue(Message message) {
  inbox_.push_back(std::move(message));
  arrived_.notify_all();
}

int StrictFakeUmad::receive(int port, uint8_t* buffer, int* length, int timeoutMs) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (timeoutMs <= 0) violate("an unbounded receive");
  if (openPorts_.count(port) == 0) {
    violate("received on a closed port");
    errno = EBADF;
    return -EBADF;
  }
  ++receives_;
  if (!receiving_.insert(port).second) violate("two receives at once");
  arrived_.wait_for(lock, std::chrono::milliseconds{timeoutMs},
                    [&] { return gone(port) || !inbox_.empty(); });
  receiving_.erase(port);
  if (gone(port) || inbox_.empty()) {
    errno = gone(port) ? EIO : ETIMEDOUT;
    return -errno;
  }
  Message& message = inbox_.front();
  const size_t size = message.bytes.size();
  if (static_cast<size_t>(*length) < size) {
    // The message stays at the head of the queue until somebody has room for it.
    *length = static_cast<int>(size);
    errno = ENOSPC;
    return -ENOSPC;
  }
  std::memset(buffer, 0, headerSize_);
  header(buffer)->agent = static_cast<uint32_t>(message.agent);
  header(buffer)->status = message.status;
  addressOf(buffer)->lid = htons(message.sourceLid);
  std::copy(message.bytes.begin(), message.bytes.end(), buffer + headerSize_);
  *length = static_cast<int>(size);
  const int agent = message.agent;
  inbox_.pop_front();
  return agent;
}

void StrictFakeUmad::addPort(const PortInfo& info) {
  std::lock_guard<std::mutex> lock(mutex_);
  ports_.push_back(info);
  live_ = info.state;
}

void StrictFakeUmad::removeDevice(const std::string& device) {
  std::lock_guard<std::mutex> lock(mutex_);
  ports_.erase(std::remove_if(ports_.begin(), ports_.end(),
                              [&](const PortInfo& info) { return info.device == device; }),
               ports_.end());
  ++removals_;
  inbox_.clear();
  arrived_.notify_all();
}

void StrictFakeUmad::setLive(const PortState& state) {
  std::lock_guard<std::mutex> lock(mutex_);
  live_ = state;
}

void StrictFakeUmad::setSysfs(const std::string& device, uint8_t port, const PortState& state) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (PortInfo& info : ports_) {
    if (info.device == device && info.port == port) info.state = state;
  }
}

PortState StrictFakeUmad::live() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return live_;
}

void StrictFakeUmad::muteSmps(bool muted) {
  std::lock_guard<std::mutex> lock(mutex_);
  smpsMuted_ = muted;
}

std::vector<StrictFakeUmad::Sent> StrictFakeUmad::sent() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return sent_;
}

int StrictFakeUmad::receives() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return receives_;
}

int StrictFakeUmad::smps() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return smps_;
}

bool StrictFakeUmad::deliver(std::vector<uint8_t> mad, uint16_t sourceLid) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t transactionId = read64(mad.data() + 8);
  for (auto& [id, agent] : agents_) {
    auto request = agent.pending.find(static_cast<uint32_t>(transactionId));
    if (request == agent.pending.end()) continue;
    if (request->second.transactionId() != transactionId) continue;
    agent.pending.erase(request);
    queue({id, 0, sourceLid, std::move(mad)});
    return true;
  }
  return false;
}

bool StrictFakeUmad::deliverReport(std::vector<uint8_t> mad, uint16_t sourceLid) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, agent] : agents_) {
    if (!agent.hasReports) continue;
    queue({id, 0, sourceLid, std::move(mad)});
    return true;
  }
  return false;
}

void StrictFakeUmad::holdReports(bool held) {
  std::lock_guard<std::mutex> lock(mutex_);
  reportsHeld_ = held;
}

size_t StrictFakeUmad::agents() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return agents_.size();
}

void StrictFakeUmad::expire() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [id, agent] : agents_) {
    for (auto& [low, request] : agent.pending) {
      std::vector<uint8_t> echo(request.mad.begin(), request.mad.begin() + codec::kMadHeaderSize);
      queue({id, ETIMEDOUT, 0, std::move(echo)});
    }
    agent.pending.clear();
  }
}

size_t StrictFakeUmad::pending() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  for (const auto& [id, agent] : agents_) count += agent.pending.size();
  return count;
}

bool StrictFakeUmad::drained() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return inbox_.empty();
}

std::vector<std::string> StrictFakeUmad::violations() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return violations_;
}

bool StrictFakeUmad::portOpen() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !openPorts_.empty();
}

}  // namespace rxib::test
