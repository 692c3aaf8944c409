// A simulated InfiniBand fabric in this process: ports, one subnet administrator, and everything
// that can go wrong between them. Reached through the same MadTransport as real hardware, with the
// same 256-byte MADs, and held to the answers of OpenSM (docs/opensm-behaviour.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/gid.h"
#include "codec/mad.h"
#include "core/clock.h"
#include "core/machine.h"
#include "core/mad_transport.h"
#include "core/port.h"
#include "embedded/subnet_administrator.h"

namespace rxib::embedded {

struct FabricOptions {
  int ports = 2;  // devices embedded0, embedded1, ... with one port each, numbered 1
  uint64_t subnetPrefix = 0xfe80000000000000ull;
  uint64_t firstGuid = 0x0002c90000100001ull;  // of embedded0; the next ports count up
  uint16_t firstLid = 2;                       // of embedded0; the next ports count up
  uint16_t smLid = 1;
  std::vector<uint16_t> pkeys{0xffff};  // every port's table, and its partitions at the SM
  uint8_t mtu = 4;                      // code; what every port can do
  uint8_t rate = 3;                     // code 2 to 22; what every port can do
  uint32_t mlidPool = 1024;             // MLIDs, of which the broadcast group takes one
  uint32_t groupsPerMlid = 1;           // at most; shared only once none is left unused
  bool broadcastGroup = true;           // the SM's own IPoIB group of the default partition
  // Whether a table may take several MADs. Without it one MAD is sent with what fits, which is
  // what libumad2sim does to OpenSM.
  bool rmpp = true;
  Duration delay{0};       // one way: once for the request and once for the answer
  double serviceRate = 0;  // requests per second; 0: no limit
  uint64_t seed = 1;       // of everything random here
};

/** `count` of the controls below: until told otherwise. */
constexpr uint32_t kForever = UINT32_MAX;

/** `method` of the controls below: every method. */
constexpr uint8_t kAnyMethod = 0;

struct FabricCounters {
  // Requests as they reached the SA, by method.
  uint64_t gets = 0;
  uint64_t sets = 0;
  uint64_t getTables = 0;
  uint64_t deletes = 0;
  uint64_t others = 0;
  uint64_t replies = 0;          // handed to a client, duplicates included
  uint64_t requestsDropped = 0;  // lost on the way, or nobody at the destination LID
  uint64_t requestsRefused = 0;  // reached the SA and were thrown away without an answer
  uint64_t repliesDropped = 0;   // executed, but the answer never arrived
  uint64_t duplicates = 0;       // extra copies of an answer
  uint64_t queued = 0;           // gauge: waiting at the SA
  uint64_t inFlight = 0;         // gauge: requests and answers on the wire
  uint64_t outstanding = 0;  // gauge: requests sent whose answer is neither handed over nor lost
  uint64_t outstandingPeak = 0;
  uint64_t groups = 0;     // gauge
  uint64_t members = 0;    // gauge: memberships (one per group and port)
  uint64_t freeMlids = 0;  // gauge
};

struct FabricState;

/**
 * A machine: run it under a ManualDriver beside its clients, or on a ThreadDriver of its own. Every
 * function may be called from any thread; the wakers it calls must not call back into it.
 * Transports may outlive the fabric: their device is then gone.
 *
 * Ports are numbered from 0 here (`embedded0` is port 0). A function with a port number out of
 * range, or of a removed device, does nothing.
 */
class Fabric final : public Machine {
 public:
  explicit Fabric(FabricOptions options = {});
  ~Fabric() override;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /**
   * Requests and answers take their time stamps here: whatever was sent since the last run counts
   * as sent at `now`. Under a manual clock that is exact, since a wake runs the machine at the same
   * instant; in real time it is late by the wake-up of a thread.
   */
  Instant run(Instant now) override;

  /** Whom to wake when something is due; nullptr for nobody. Outlives the fabric or is unset. */
  void setWaker(Waker* waker);

  int portCount() const;
  std::vector<PortInfo> ports() const;
  /** -1: no such device or port. */
  int findPort(const std::string& device, int portNumber) const;

  /**
   * One more SA client on a port. Clients of one port are like processes on one host: each gets
   * the answers to its own requests, all are told of port events. nullptr: no such port, or the
   * device has been removed.
   */
  std::unique_ptr<MadTransport> open(int port);

  // The wire.

  /** Probability, 0 to 1, that a request is lost before it arrives, or its answer afterwards. */
  void setLoss(double request, double reply);
  /** One way; what is on its way already keeps its time. */
  void setDelay(Duration delay);
  /** The next `count` requests are lost before they arrive. 0 ends it, as below. */
  void dropNext(uint32_t count, uint8_t method = kAnyMethod);
  /** The next `count` requests are executed, but their answers are lost. */
  void setReplyLost(uint32_t count, uint8_t method = kAnyMethod);
  /** Probability that an answer arrives twice. */
  void setDuplication(double probability);
  /** Probability that an answer is held back for a random part of `window`. */
  void setReordering(double probability, Duration window);

  // The subnet manager.

  /** The next `count` requests are answered with `status` and not executed. */
  void setForcedStatus(uint16_t status, uint32_t count, uint8_t method = kAnyMethod);
  /** Requests per second that the SA serves, in order of arrival; 0: no limit. */
  void setServiceRate(double perSecond);
  /**
   * The SM stops serving, as under SIGSTOP: requests wait in its queue and are executed and
   * answered after resume(), however late.
   */
  void silence();
  void resume();
  /** The SM dies: groups, members and queue are gone, requests vanish. Ports notice nothing. */
  void killSm();
  /** A dead SM starts anew, with nothing but its broadcast group. */
  void startSm();
  /** Both at once; `reregister` then asks the clients of every active port to reregister. */
  void restartSm(bool reregister = false);
  /** Another SM at `newSmLid` takes over without the groups; every active port is told. */
  void takeover(uint16_t newSmLid);

  // Ports.

  /** The link goes down: all on the wire is lost, the SM forgets the port's memberships. */
  void portDown(int port);
  void portUp(int port);
  /** The SM keeps the memberships; answers on their way to the old LID are lost. */
  void changeLid(int port, uint16_t lid);
  /** The SM forgets the memberships of the old GID. */
  void changeGid(int port, const Gid& gid);
  /** The SM keeps the memberships, but checks later joins against the new table. */
  void setPkeys(int port, std::vector<uint16_t> table);
  /** Codes of what the port can do; concerns later joins only. */
  void setPortLimits(int port, uint8_t mtu, uint8_t rate);
  /** The clients are asked to reregister; the memberships are still there. */
  void clientReregister(int port);
  /** For good. Sends fail with ENODEV, the SM forgets the port's memberships. */
  void removeDevice(int port);

  // Inspection.

  /** By MGID, then port. The broadcast group appears once a port has joined it. */
  std::vector<Member> members() const;
  /** MGIDs of all groups, those without members included. */
  std::vector<Gid> groups() const;
  FabricCounters counters() const;

 private:
  std::shared_ptr<FabricState> state_;
};

}  // namespace rxib::embedded
