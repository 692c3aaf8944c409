// What a fabric and the transports into it share, under one mutex.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "embedded/fabric.h"
#include "embedded/random.h"
#include "embedded/subnet_administrator.h"

namespace rxib::embedded {

/** A port event, and the port as it was right after it. */
struct PortNews {
  PortEvent event;
  PortState state;
};

/** One SA client's end of the wire. */
struct Endpoint {
  int port = 0;
  uint32_t id = 0;  // the high half of its transaction ids
  bool wantsReports = false;
  Waker* waker = nullptr;
  std::deque<std::variant<ReceivedMad, PortNews>> inbox;
};

struct SimulatedPort {
  std::string device;
  PortState state;
  bool removed = false;
  std::vector<std::shared_ptr<Endpoint>> clients;
};

/** A request on its way to the SA, or its answer on the way back. */
struct Parcel {
  std::shared_ptr<Endpoint> client;
  uint16_t lid = 0;  // of the client's port when the request was sent
  uint16_t smLid = 0;
  bool copy = false;           // a duplicate, which settles nothing
  bool news = false;           // a Report, which answers nothing
  std::vector<uint8_t> bytes;  // an answer may be longer than a MAD: reassembled, as by a kernel
};

/** A fault that strikes the next `left` requests of a method. */
struct Fault {
  uint32_t left = 0;
  uint8_t method = kAnyMethod;

  /** Whether it strikes this request; each strike uses one up. */
  bool strikes(uint8_t requestMethod);
};

struct FabricState {
  explicit FabricState(const FabricOptions& chosen);

  // Everything below is called with the mutex held.

  Instant run(Instant now);
  int send(const std::shared_ptr<Endpoint>& client, const codec::MadBytes& mad,
           uint16_t destinationLid);
  /** As at a kernel: one client of a port has its reports, whatever others want. */
  int wantReports(const std::shared_ptr<Endpoint>& client, bool wanted);
  void close(const std::shared_ptr<Endpoint>& client);

  /** The port, or nullptr for a number out of range or a removed device. */
  SimulatedPort* find(int port);
  void tell(SimulatedPort& port, PortEvent event);
  void tellActivePorts(ResetReason reason);
  void loseEverythingOf(int port);
  /** The SM is gone, with its queue, its groups and its members. */
  void loseSm();
  void wake();

  std::mutex mutex;
  FabricOptions options;
  SubnetAdministrator administrator;
  std::vector<SimulatedPort> ports;
  Waker* waker = nullptr;
  bool closed = false;

  Random random;
  FabricCounters counters;
  double requestLoss = 0;
  double replyLoss = 0;
  double duplication = 0;
  double reordering = 0;
  Duration reorderingWindow{0};
  Fault dropped;
  Fault replyLost;
  Fault forced;
  uint16_t forcedStatus = 0;
  bool smAlive = true;
  bool smSilent = false;

 private:
  using Wire = std::multimap<Instant, Parcel>;  // equal instants keep their order

  void arrive(Instant at, Parcel request);
  void serve(Instant at);
  void reply(Instant at, Parcel parcel, const SaAnswer& answer, uint8_t method);
  void tellNews(Instant at);
  void report(Instant at, const GroupNews& news);
  void deliver(Parcel parcel);
  void count(uint8_t method);
  /** A request has found its end: answered, or lost for good. */
  void settle();
  void loseRequest();
  Instant serviceTime(Instant from) const;

  uint32_t nextEndpointId_ = 1;
  uint32_t nextReport_ = 1;
  std::deque<Parcel> sent_;  // since the last run, so not on the clock yet
  Wire toSm_;
  std::deque<Parcel> queue_;  // at the SA
  Instant nextService_ = kNever;
  Wire toClients_;

  friend class Fabric;
};

/** The MadTransport of one client. */
std::unique_ptr<MadTransport> makeTransport(std::shared_ptr<FabricState> state,
                                            std::shared_ptr<Endpoint> client);

}  // namespace rxib::embedded
