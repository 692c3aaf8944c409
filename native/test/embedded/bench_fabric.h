// A fabric under a manual clock, and SA clients that ask it one thing at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "core/machine.h"
#include "embedded/fabric.h"

namespace rxib::embedded::test {

constexpr uint64_t kTrusted = 1;

inline uint64_t maskOf(std::initializer_list<McComponent> components) {
  uint64_t mask = 0;
  for (McComponent component : components) mask |= bit(component);
  return mask;
}

constexpr uint64_t kMembershipMask =
    bit(McComponent::kMgid) | bit(McComponent::kPortGid) | bit(McComponent::kJoinState);

inline Gid gid(std::initializer_list<int> bytes) {
  Gid made;
  size_t i = 0;
  for (int byte : bytes) made.bytes[i++] = static_cast<uint8_t>(byte);
  return made;
}

/** ff12:cafe::n */
inline Gid group(uint32_t n) {
  Gid made = gid({0xff, 0x12, 0xca, 0xfe});
  for (size_t i = 0; i < 4; ++i) made.bytes[12 + i] = static_cast<uint8_t>(n >> (24 - 8 * i));
  return made;
}

/** An answer, taken apart. */
struct Answer {
  codec::SaMad mad;  // of a table longer than one MAD: what the first would have held
  uint16_t sourceLid = 0;
  std::vector<uint8_t> bytes;

  uint16_t status() const { return mad.status; }
  McMemberRecord record(size_t index = 0) const {
    McMemberRecord out;
    codec::unpackMcMemberRecord(mad.data.data() + index * 56, 56, out);
    return out;
  }
};

class Client final : public Machine, public MadTransport::Listener {
 public:
  Client(Fabric& fabric, ManualDriver& driver, int port)
      : driver_(driver), transport_(fabric.open(port)) {
    transport_->start(slot_);
    driver_.add(slot_, *this);
  }
  ~Client() override {
    driver_.remove(slot_);
    transport_->stop();
  }

  Instant run(Instant now) override { return transport_->poll(now, *this); }
  void onMad(const ReceivedMad& received) override {
    Answer answer;
    answer.sourceLid = received.sourceLid;
    answer.bytes = received.bytes;
    codec::MadBytes first{};
    std::copy_n(received.bytes.begin(), std::min(received.bytes.size(), first.size()),
                first.begin());
    if (received.bytes.size() >= codec::kSaHeaderSize &&
        codec::unpackSaMad(first.data(), first.size(), answer.mad)) {
      answers.push_back(answer);
      arrivals.push_back(driver_.now());
    }
  }
  void onPortEvent(const PortEvent& event) override {
    events.push_back(event);
    statesAtEvents.push_back(transport_->port());
  }

  const PortState& port() const { return transport_->port(); }
  MadTransport& transport() { return *transport_; }

  codec::SaMad request(codec::SaMethod method, const McMemberRecord& record, uint64_t mask) {
    codec::SaMad mad;
    mad.method = static_cast<uint8_t>(method);
    mad.transactionId = ++lastTransaction_;
    mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord);
    mad.componentMask = mask;
    codec::packMcMemberRecord(record, mad.data.data());
    return mad;
  }
  int send(const codec::SaMad& mad) { return sendTo(mad, transport_->port().smLid); }
  int sendTo(const codec::SaMad& mad, uint16_t lid) {
    codec::MadBytes bytes;
    codec::packSaMad(mad, bytes);
    return transport_->send(bytes, lid, 0, std::chrono::seconds(1));
  }

  /** Sends and waits: the last answer that came within `wait`, if any. */
  std::optional<Answer> ask(const codec::SaMad& mad, Duration wait = Duration{0}) {
    answers.clear();
    arrivals.clear();
    send(mad);
    driver_.advance(wait);
    if (answers.empty()) return std::nullopt;
    return answers.back();
  }
  uint16_t statusOf(codec::SaMethod method, const McMemberRecord& record, uint64_t mask) {
    const auto answer = ask(request(method, record, mask));
    return answer ? answer->status() : kNoAnswer;
  }
  static constexpr uint16_t kNoAnswer = 0xffff;

  McMemberRecord creation(const Gid& mgid, uint8_t joinState = kFullMember) const {
    McMemberRecord record;
    record.mgid = mgid;
    record.portGid = port().gid;
    record.qkey = 0xb1b;
    record.pkey = 0xffff;
    record.joinState = joinState;
    return record;
  }
  McMemberRecord membership(const Gid& mgid, uint8_t joinState = kFullMember) const {
    McMemberRecord record;
    record.mgid = mgid;
    record.portGid = port().gid;
    record.joinState = joinState;
    return record;
  }

  uint16_t create(const Gid& mgid, uint8_t joinState = kFullMember) {
    return statusOf(codec::SaMethod::kSet, creation(mgid, joinState), kMcCreationComponents);
  }
  uint16_t join(const Gid& mgid, uint8_t joinState = kFullMember) {
    return statusOf(codec::SaMethod::kSet, membership(mgid, joinState), kMembershipMask);
  }
  uint16_t leave(const Gid& mgid, uint8_t joinState = kFullMember) {
    return statusOf(codec::SaMethod::kDelete, membership(mgid, joinState), kMembershipMask);
  }
  /** Get by MGID alone: does the group exist? */
  uint16_t find(const Gid& mgid) {
    return statusOf(codec::SaMethod::kGet, membership(mgid), bit(McComponent::kMgid));
  }
  /** Get by MGID and this port's GID: is it a member? */
  uint16_t findOwn(const Gid& mgid) {
    return statusOf(codec::SaMethod::kGet, membership(mgid),
                    bit(McComponent::kMgid) | bit(McComponent::kPortGid));
  }

  std::vector<Answer> answers;
  std::vector<Instant> arrivals;
  std::vector<PortEvent> events;
  std::vector<PortState> statesAtEvents;

 private:
  ManualDriver& driver_;
  std::unique_ptr<MadTransport> transport_;
  ManualDriver::Slot slot_;
  uint64_t lastTransaction_ = 0x1000;
};

/** The usual bench: a fabric and a client on each of its ports. */
struct Bench {
  explicit Bench(FabricOptions options = {}) : fabric(options) {
    driver.add(slot, fabric);
    fabric.setWaker(&slot);
    for (int i = 0; i < options.ports; ++i) {
      clients.push_back(std::make_unique<Client>(fabric, driver, i));
    }
  }
  ~Bench() {
    clients.clear();
    fabric.setWaker(nullptr);
    driver.remove(slot);
  }
  Client& a() { return *clients[0]; }
  Client& b() { return *clients[1]; }
  Client& c() { return *clients[2]; }
  void advance(Duration by) { driver.advance(by); }

  ManualDriver driver;
  Fabric fabric;
  ManualDriver::Slot slot;
  std::vector<std::unique_ptr<Client>> clients;
};

}  // namespace rxib::embedded::test
