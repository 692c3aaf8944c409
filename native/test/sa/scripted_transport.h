// A MadTransport whose other end is the test: it notes every MAD with its instant, and answers,
// loses, repeats, delays, forges or refuses as the script says. Nothing is answered by itself
// unless a script was given.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "codec/mad.h"
#include "codec/mc_member_record.h"
#include "core/mad_transport.h"

namespace rxib::test {

using codec::SaMethod;

struct SentMad {
  Instant at{};
  codec::SaMad mad;
  McMemberRecord record;
  uint16_t lid = 0;
  uint8_t sl = 0;
  Duration timeout{};

  SaMethod method() const { return static_cast<SaMethod>(mad.method); }
  uint32_t transaction() const { return static_cast<uint32_t>(mad.transactionId); }
};

/** A group as a subnet administrator would hand it out. */
inline McMemberRecord grantedRecord(const McMemberRecord& asked) {
  McMemberRecord record = asked;
  if (record.mlid == 0) record.mlid = static_cast<uint16_t>(0xc000 + record.mgid.bytes[15]);
  record.mtuSelector = record.rateSelector = record.packetLifeTimeSelector = 2;
  if (record.mtu == 0) record.mtu = 4;
  if (record.rate == 0) record.rate = 3;
  if (record.packetLifeTime == 0) record.packetLifeTime = 18;
  return record;
}

/** The response to `sent`, to be altered before it is packed. */
inline codec::SaMad responseTo(const SentMad& sent, uint16_t status, const McMemberRecord& record) {
  codec::SaMad mad = sent.mad;
  mad.method = static_cast<uint8_t>(sent.method() == SaMethod::kDelete ? SaMethod::kDeleteResp
                                                                       : SaMethod::kGetResp);
  mad.status = status;
  mad.data = {};
  // With an error nothing is echoed: not every subnet administrator does.
  if (status == 0) codec::packMcMemberRecord(record, mad.data.data());
  return mad;
}

inline ReceivedMad received(const codec::SaMad& mad, uint16_t sourceLid) {
  codec::MadBytes bytes;
  codec::packSaMad(mad, bytes);
  ReceivedMad out;
  out.bytes.assign(bytes.begin(), bytes.end());
  out.sourceLid = sourceLid;
  return out;
}

class ScriptedTransport final : public MadTransport {
 public:
  ScriptedTransport() {
    state.phase = PortPhase::kActive;
    state.linkLayer = LinkLayer::kInfiniBand;
    state.lid = 4;
    state.smLid = 1;
    state.gid.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0, 0, 4};
    state.pkeys = {0xffff, 0x8001};
  }

  // The script: called for every MAD that is to be sent; what it returns is what send() returns.
  std::function<int(const SentMad&)> script;

  std::vector<SentMad> sent;
  PortState state;
  std::vector<bool> watchCalls;
  std::vector<bool> reportCalls;
  int reportStatus = kOk;  // what asking for reports gives
  bool stopped = false;

  Instant now() const { return now_; }

  /** From any thread: hands `mad` over at the first poll at or after `at`. */
  void deliver(const ReceivedMad& mad, Instant at = Instant{Duration{0}}) { put(at, mad); }
  /** Likewise; `alter` changes the port's state just before the event. */
  void raise(const PortEvent& event, std::function<void(PortState&)> alter = nullptr,
             Instant at = Instant{Duration{0}}) {
    put(at, Happening{event, std::move(alter)});
  }
  /** Runs `errand` inside the first poll at or after `at`. */
  void later(Instant at, std::function<void()> errand) { put(at, std::move(errand)); }
  void raise(ResetReason reason, std::function<void(PortState&)> alter = nullptr) {
    PortEvent event;
    event.reason = reason;
    raise(event, std::move(alter));
  }

  void answer(const SentMad& to, uint16_t status = 0, Duration delay = Duration{0}) {
    answer(to, status, grantedRecord(to.record), delay);
  }
  void answer(const SentMad& to, uint16_t status, const McMemberRecord& record,
              Duration delay = Duration{0}) {
    deliver(received(responseTo(to, status, record), to.lid), now_ + delay);
  }

  // MadTransport

  void start(Waker& waker) override { waker_ = &waker; }

  Instant poll(Instant now, Listener& listener) override {
    now_ = now;
    for (;;) {
      Item item;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (inbox_.empty()) return kNever;
        if (inbox_.begin()->first > now) return inbox_.begin()->first;
        item = std::move(inbox_.begin()->second);
        inbox_.erase(inbox_.begin());
      }
      if (auto* mad = std::get_if<ReceivedMad>(&item)) {
        listener.onMad(*mad);
      } else if (auto* errand = std::get_if<std::function<void()>>(&item)) {
        (*errand)();
      } else {
        auto& happening = std::get<Happening>(item);
        if (happening.alter) happening.alter(state);
        listener.onPortEvent(happening.event);
      }
    }
  }

  int send(const codec::MadBytes& bytes, uint16_t destinationLid, uint8_t sl,
           Duration attemptTimeout) override {
    SentMad item;
    item.at = now_;
    codec::unpackSaMad(bytes.data(), bytes.size(), item.mad);
    codec::unpackMcMemberRecord(item.mad.data.data(), item.mad.data.size(), item.record);
    item.lid = destinationLid;
    item.sl = sl;
    item.timeout = attemptTimeout;
    const int status = script ? script(item) : static_cast<int>(kOk);
    if (status == kOk && keep) sent.push_back(item);
    return status;
  }

  const PortState& port() const override { return state; }
  void watch(bool wanted) override { watchCalls.push_back(wanted); }
  int wantReports(bool wanted) override {
    reportCalls.push_back(wanted);
    return wanted ? reportStatus : static_cast<int>(kOk);
  }
  void stop() override { stopped = true; }

  bool keep = true;  // false: `sent` stays empty, for long runs

 private:
  struct Happening {
    PortEvent event;
    std::function<void(PortState&)> alter;
  };
  using Item = std::variant<ReceivedMad, Happening, std::function<void()>>;

  void put(Instant at, Item item) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      inbox_.emplace(at, std::move(item));
    }
    if (waker_ != nullptr) waker_->wake();
  }

  Waker* waker_ = nullptr;
  Instant now_{Duration{0}};
  std::mutex mutex_;
  std::multimap<Instant, Item> inbox_;
};

}  // namespace rxib::test
