// What an engine reports about a join, and to whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "codec/mc_member_record.h"
#include "core/ask.h"
#include "core/port.h"

namespace rxib {

using HandleId = uint64_t;

/** What a sender to the group needs beside the record (the kernel's ib_init_ah_from_mcmember). */
struct AddressHandle {
  uint8_t port = 0;
  uint8_t sgidIndex = 0;
  uint8_t staticRate = 0;  // code; 0: the port's own rate
};

struct Completion {
  HandleId handle = 0;
  int status = 0;  // 0, or a negative Linux errno, or whatever else the source reported
  std::optional<McMemberRecord> record;
  std::optional<uint16_t> saStatus;
  uint64_t fields = 0;  // component-mask bits of the fields concerned; 0: not known
  ResetReason reason = ResetReason::kNone;
  // What the source itself reported, where `status` is our reading of it.
  std::optional<int> cause;
  std::optional<AddressHandle> addressHandle;
  std::shared_ptr<const RecordTable> table;  // for who asked the SA something
};

enum class DiagnosticKind : uint8_t {
  kLeaveFailed = 1,    // a Delete went unanswered or was refused; status and saStatus say how
  kLateReply,          // an answer to a request that had already ended
  kDuplicateReply,     // a second answer to one request
  kForeignReply,       // no request of ours matches
  kMalformedReply,     // truncated, or not what the request asked for
  kCompensatingLeave,  // a Delete for a Set whose outcome is unknown
  kStaleLeave,         // a Delete for a membership that nobody renewed after a reset
  kPortEvent,          // reason says which; also for those that reset nothing
};

struct Diagnostic {
  DiagnosticKind kind{};
  Gid mgid;
  int status = 0;
  std::optional<uint16_t> saStatus;
  ResetReason reason = ResetReason::kNone;
};

/** Receives completions while the engine runs. Must not block and must not call the engine. */
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /** The reader may get to know of it no sooner than handOver(). */
  virtual void complete(Completion completion) = 0;
  /** The engine calls it soon after complete(): once for several, where more are about to come. */
  virtual void handOver() {}
  /** Completions since the last handOver(). */
  virtual size_t waiting() const { return 0; }
  virtual void diagnose(const Diagnostic& diagnostic) = 0;
  /** The engine's unsettled() may have turned false. */
  virtual void settled() = 0;
};

/** A counter for any thread. Copying one takes its value. */
class Counter {
 public:
  Counter() = default;
  Counter(const Counter& other) : value_(other.get()) {}
  Counter& operator=(const Counter& other) {
    set(other.get());
    return *this;
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  operator uint64_t() const { return get(); }
  void set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void operator++() { value_.fetch_add(1, std::memory_order_relaxed); }
  void operator--() { value_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/**
 * Counters of one port since it was opened. Gauges are marked; the rest only grows. The order is
 * part of the addon's interface: src/binding/stats-fields.ts names them in the same order.
 */
struct PortStats {
  Counter joinsStarted;  // handles made, those of questions included
  Counter joined;        // status 0 completions
  Counter failed;        // completions that ended a join before it was joined
  Counter resets;        // ENETRESET completions
  Counter handlesAlive;  // gauge: joinsStarted - handlesFreed
  Counter handlesFreed;
  Counter groups;              // gauge: entries of the group table
  Counter saRequests;          // MADs sent to the SA, repeats included
  Counter joinsSent;           // Set requests begun
  Counter leavesSent;          // Delete requests begun
  Counter leavesFailed;        // Deletes given up
  Counter compensatingLeaves;  // of leavesSent: for a Set whose outcome is unknown
  Counter staleLeaves;         // of leavesSent: for a membership nobody renewed after a reset
  Counter retries;             // repeats
  Counter timeouts;            // requests that ended without an answer
  Counter sendFailures;
  Counter audits;       // Get requests of the membership audit
  Counter outstanding;  // gauge: requests in the window
  Counter outstandingPeak;
  Counter lateReplies;
  Counter duplicateReplies;
  Counter foreignReplies;
  Counter malformedReplies;
  Counter portEvents;
  Counter probes;    // Get requests that ask whether the port is a member already
  Counter borrowed;  // gauge: groups in which some of our bits are somebody else's as well
};

}  // namespace rxib
