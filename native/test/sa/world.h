// An SA client on a scripted transport under a clock that only the test moves.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "check.h"
#include "sa/client.h"
#include "scripted_transport.h"

namespace rxib::test {

constexpr Duration ms(int64_t n) { return std::chrono::milliseconds{n}; }

constexpr uint64_t kUsualMask = kMcCreationComponents;
constexpr uint64_t kJoinMask = rxib::bit(McComponent::kMgid) | rxib::bit(McComponent::kPortGid) |
                               rxib::bit(McComponent::kJoinState);

inline Gid mgid(uint8_t n) {
  Gid gid;
  gid.bytes = {0xff, 0x12, 0xa0, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n};
  return gid;
}

inline sa::JoinSpec joinSpec(const Gid& group, uint8_t bits = kFullMember) {
  sa::JoinSpec spec;
  spec.record.mgid = group;
  spec.record.qkey = 0x1b;
  spec.record.pkey = 0xffff;
  spec.record.joinState = bits;
  spec.mask = kUsualMask;
  return spec;
}

inline sa::JoinSpec joinSpec(uint8_t group, uint8_t bits = kFullMember) {
  return joinSpec(mgid(group), bits);
}

class RecordingSink : public CompletionSink {
 public:
  void complete(Completion completion) override { completions.push_back(std::move(completion)); }
  void diagnose(const Diagnostic& diagnostic) override { diagnostics.push_back(diagnostic); }
  void settled() override { ++settledCalls; }

  std::vector<int> statuses(HandleId handle) const {
    std::vector<int> all;
    for (const Completion& completion : completions) {
      if (completion.handle == handle) all.push_back(completion.status);
    }
    return all;
  }
  /** Every status told to `handle`, as text: "0 -102". */
  std::string told(HandleId handle) const {
    std::string text;
    for (int status : statuses(handle)) {
      text += (text.empty() ? "" : " ") + std::to_string(status);
    }
    return text;
  }
  const Completion& last(HandleId handle) const {
    for (auto it = completions.rbegin(); it != completions.rend(); ++it) {
      if (it->handle == handle) return *it;
    }
    throw Failure("handle " + std::to_string(handle) + " was told nothing");
  }
  int count(DiagnosticKind kind) const {
    return static_cast<int>(std::count_if(diagnostics.begin(), diagnostics.end(),
                                          [kind](const auto& d) { return d.kind == kind; }));
  }

  std::vector<Completion> completions;
  std::vector<Diagnostic> diagnostics;
  int settledCalls = 0;
};

inline sa::Options quietOptions() {
  sa::Options options;
  options.auditInterval = Duration{0};
  options.seed = 0x1234567890abcdefull;
  return options;
}

class World final : private Waker {
 public:
  explicit World(const sa::Options& options = quietOptions()) : client(transport, options, stats) {
    transport.start(*this);
    client.attach(&sink);
  }

  /** Does what is due now. */
  void run() {
    for (int rounds = 0;; ++rounds) {
      // A client that always wants to run at once would keep a driver busy forever.
      if (rounds > 1000) throw Failure("the client never comes to rest");
      woken_ = false;
      next_ = client.run(now);
      if (next_ > now && !woken_) return;
    }
  }
  void advance(Duration by) {
    const Instant target = now + by;
    run();
    while (next_ < target) {
      now = next_;
      run();
    }
    now = target;
    run();
  }
  /** Moves on until something is sent. */
  void advanceToNextSend() {
    const size_t before = transport.sent.size();
    run();
    while (transport.sent.size() == before) {
      if (next_ == kNever) throw Failure("nothing will ever be sent");
      now = next_;
      run();
    }
  }

  HandleId join(const sa::JoinSpec& spec) {
    client.join(now, ++lastHandle_, std::make_unique<JoinSpec>(spec), &sink);
    return lastHandle_;
  }
  HandleId join(uint8_t group, uint8_t bits = kFullMember) { return join(joinSpec(group, bits)); }
  void free(HandleId handle) { client.free(now, handle); }

  /** Joins, and grants it. */
  HandleId member(const sa::JoinSpec& spec) {
    HandleId handle = join(spec);
    const size_t before = transport.sent.size();
    run();
    if (transport.sent.size() > before) answerLast();
    CHECK_EQ(sink.told(handle), "0");
    return handle;
  }
  HandleId member(uint8_t group, uint8_t bits = kFullMember) {
    return member(joinSpec(group, bits));
  }

  const SentMad& last() const {
    if (transport.sent.empty()) throw Failure("nothing was sent");
    return transport.sent.back();
  }
  void answerLast(uint16_t status = 0) {
    transport.answer(SentMad{last()}, status);
    run();
  }
  void answerLast(uint16_t status, const McMemberRecord& record) {
    transport.answer(SentMad{last()}, status, record);
    run();
  }

  void event(ResetReason reason, std::function<void(PortState&)> alter = nullptr) {
    transport.raise(reason, std::move(alter));
    run();
  }

  /** What was sent from the `from`th MAD on, as text: "Set 1/1, Delete 1/5", group and bits. */
  std::string trace(size_t from = 0) const {
    std::string text;
    for (size_t i = from; i < transport.sent.size(); ++i) {
      const SentMad& mad = transport.sent[i];
      const char* name = mad.method() == SaMethod::kSet      ? "Set "
                         : mad.method() == SaMethod::kDelete ? "Delete "
                                                             : "Get ";
      if (!text.empty()) text += ", ";
      text += name + std::to_string(mad.record.mgid.bytes[15]);
      if (mad.method() != SaMethod::kGet) text += "/" + std::to_string(mad.record.joinState);
    }
    return text;
  }
  size_t mark() const { return transport.sent.size(); }

  /** Everything freed has left, and nothing is remembered of it. */
  void checkEmpty() const {
    CHECK_EQ(stats.groups.get(), 0u);
    CHECK_EQ(stats.outstanding.get(), 0u);
    CHECK(!client.unsettled());
  }

  ScriptedTransport transport;
  PortStats stats;
  RecordingSink sink;
  sa::Client client;
  Instant now{Duration{0}};

 private:
  void wake() override { woken_ = true; }

  bool woken_ = false;
  Instant next_{};
  HandleId lastHandle_ = 0;
};

}  // namespace rxib::test
