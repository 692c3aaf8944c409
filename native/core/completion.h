// What an engine reports about a join, and to whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/mc_member_record.h"
#include "core/port.h"

namespace rxib {

using HandleId = uint64_t;

struct Completion {
  HandleId handle = 0;
  int status = 0;  // 0, or a negative Linux errno, or whatever else the source reported
  std::optional<McMemberRecord> record;
  std::optional<uint16_t> saStatus;
  uint64_t fields = 0;  // component-mask bits of the fields concerned; 0: not known
  ResetReason reason = ResetReason::kNone;
};

enum class DiagnosticKind : uint8_t {
  kLeaveFailed = 1,     // a Delete went unanswered or was refused; status and saStatus say how
  kLateReply,           // an answer to a request that had already ended
  kDuplicateReply,      // a second answer to one request
  kForeignReply,        // no request of ours matches
  kMalformedReply,      // truncated, or not what the request asked for
  kCompensatingLeave,   // a Delete for a Set whose outcome is unknown
  kStaleLeave,          // a Delete for a membership that nobody renewed after a reset
  kPortEvent,           // reason says which; also for those that reset nothing
};

struct Diagnostic {
  DiagnosticKind kind{};
  Gid mgid;
  int status = 0;
  std::optional<uint16_t> saStatus;
  ResetReason reason = ResetReason::kNone;
};

/** Receives completions on the engine's thread. Must not block and must not call the engine. */
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual void complete(Completion completion) = 0;
  virtual void diagnose(const Diagnostic& diagnostic) = 0;
  /** The engine's unsettled() may have turned false. */
  virtual void settled() = 0;
};

/**
 * Counters of one port since it was opened. Gauges are marked; the rest only grows. The order is
 * part of the addon's interface: src/binding/stats-fields.ts names them in the same order.
 */
struct PortStats {
  uint64_t joinsStarted = 0;    // handles made
  uint64_t joined = 0;          // status 0 completions
  uint64_t failed = 0;          // completions that ended a join before it was joined
  uint64_t resets = 0;          // ENETRESET completions
  uint64_t handlesAlive = 0;    // gauge: joinsStarted - handlesFreed
  uint64_t handlesFreed = 0;
  uint64_t groups = 0;          // gauge: entries of the group table
  uint64_t saRequests = 0;      // MADs sent to the SA, repeats included
  uint64_t joinsSent = 0;       // Set requests begun
  uint64_t leavesSent = 0;      // Delete requests begun
  uint64_t leavesFailed = 0;    // Deletes given up
  uint64_t compensatingLeaves = 0;  // of leavesSent: for a Set whose outcome is unknown
  uint64_t staleLeaves = 0;     // of leavesSent: for a membership nobody renewed after a reset
  uint64_t retries = 0;         // repeats
  uint64_t timeouts = 0;        // requests that ended without an answer
  uint64_t sendFailures = 0;
  uint64_t audits = 0;          // Get requests of the membership audit
  uint64_t outstanding = 0;     // gauge: requests in the window
  uint64_t outstandingPeak = 0;
  uint64_t lateReplies = 0;
  uint64_t duplicateReplies = 0;
  uint64_t foreignReplies = 0;
  uint64_t malformedReplies = 0;
  uint64_t portEvents = 0;
};

}  // namespace rxib
