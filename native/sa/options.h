// What the owner of a port may decide about its SA client.
#pragma once

#include <cstdint>

#include "core/clock.h"

namespace rxib::sa {

/** Of which groups the SA is asked, before they are joined, whether the port is a member already.
 */
enum class Probe : uint8_t {
  kIpoib,   // those with the IPoIB signature in their MGID: the kernel joins them as well
  kAlways,  // all
  kNever,
};

struct Options {
  Duration requestTimeout = std::chrono::milliseconds{3000};  // in all, over the attempts
  int attempts = 3;
  int maxOutstanding = 64;
  Duration auditInterval = std::chrono::milliseconds{10000};  // 0: no audit
  Duration staleLeave = std::chrono::milliseconds{30000};
  Probe probe = Probe::kIpoib;
  // How many joins, asks and frees may gather before the engine is set to work. Whoever sets more
  // than one calls flush() when no more are coming.
  int gather = 1;
  // How long a completion may wait for others while answers are outstanding, before its reader is
  // woken: that costs as much as several completions.
  Duration handOverDelay{0};
  // How often a leave is tried again after its first request ended without success.
  int leaveRetries = 3;
  // How long an attempt that was never answered is remembered, so that a late success is noticed.
  Duration lateReplyMemory = std::chrono::seconds{60};
  // Start of the transaction ids and of the audit's jitter; unpredictable in production.
  uint64_t seed = 0;
};

}  // namespace rxib::sa
