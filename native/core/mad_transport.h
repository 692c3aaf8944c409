// The native seam: how an SA client reaches a subnet administrator. Implemented by umad (libibumad)
// and by embedded (an in-process subnet administrator).
#pragma once

#include <cstdint>
#include <vector>

#include "codec/mad.h"
#include "core/clock.h"
#include "core/machine.h"
#include "core/port.h"
#include "core/status.h"

namespace rxib {

/** A MAD that arrived. Nothing about it has been checked. */
struct ReceivedMad {
  std::vector<uint8_t> bytes;
  uint16_t sourceLid = 0;
};

class MadTransport {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void onMad(const ReceivedMad& mad) = 0;
    virtual void onPortEvent(const PortEvent& event) = 0;
  };

  virtual ~MadTransport() = default;

  // Every function below is called by the thread that runs the SA client, or before start().

  /**
   * Makes `waker` the one to call whenever poll() has something to hand over. Called once, before
   * any other function below. The waker outlives the transport's stop().
   */
  virtual void start(Waker& waker) = 0;

  /** Hands everything that arrived since the last poll to `listener`, oldest first. */
  virtual Instant poll(Instant now, Listener& listener) = 0;

  /**
   * Sends one 256-byte MAD to QP1 of `destinationLid`. The transport owns the high 32 bits of the
   * transaction id. `attemptTimeout` is how long the sender will wait for the answer; a transport
   * may forget the request some time after that. kOk, or a negative status when it was not sent.
   */
  virtual int send(const codec::MadBytes& mad, uint16_t destinationLid, uint8_t sl,
                   Duration attemptTimeout) = 0;

  /** The port as of the last poll. */
  virtual const PortState& port() const = 0;

  /**
   * Whether port events matter at the moment. A transport that can only find them by polling the
   * hardware stops doing so while nobody has a membership; at the call with true it refreshes
   * port() before it returns.
   */
  virtual void watch(bool wanted) = 0;

  /**
   * Whether the SA's reports are to arrive among the answers. kOk, or kEBUSY: only one program on a
   * port can have them, and another one has.
   */
  virtual int wantReports(bool wanted) = 0;

  /** Ends every thread of the transport; requests outstanding are dropped. Idempotent. */
  virtual void stop() = 0;
};

}  // namespace rxib
