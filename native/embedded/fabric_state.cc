#include "embedded/fabric_state.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib::embedded {
namespace {

Gid portGid(uint64_t prefix, uint64_t guid) {
  Gid gid;
  codec::write64(gid.bytes.data(), prefix);
  codec::write64(gid.bytes.data() + 8, guid);
  return gid;
}

uint8_t methodOf(const codec::MadBytes& mad) { return mad[3]; }

}  // namespace

bool Fault::strikes(uint8_t requestMethod) {
  if (left == 0 || (method != kAnyMethod && method != requestMethod)) return false;
  if (left != kForever) --left;
  return true;
}

FabricState::FabricState(const FabricOptions& chosen)
    : options(chosen),
      administrator({chosen.subnetPrefix, chosen.mlidPool, chosen.broadcastGroup}),
      random(chosen.seed) {
  for (int i = 0; i < options.ports; ++i) {
    SimulatedPort port;
    port.device = "embedded" + std::to_string(i);
    port.state.phase = PortPhase::kActive;
    port.state.linkLayer = LinkLayer::kInfiniBand;
    port.state.lid = static_cast<uint16_t>(options.firstLid + i);
    port.state.smLid = options.smLid;
    port.state.gid = portGid(options.subnetPrefix, options.firstGuid + static_cast<uint64_t>(i));
    port.state.pkeys = options.pkeys;
    KnownPort known;
    known.gid = port.state.gid;
    known.pkeys = options.pkeys;
    known.mtu = options.mtu;
    known.rate = options.rate;
    administrator.addPort(std::move(known));
    ports.push_back(std::move(port));
  }
}

SimulatedPort* FabricState::find(int port) {
  if (port < 0 || port >= static_cast<int>(ports.size())) return nullptr;
  SimulatedPort& found = ports[static_cast<size_t>(port)];
  return found.removed ? nullptr : &found;
}

void FabricState::wake() {
  if (waker != nullptr) waker->wake();
}

void FabricState::tell(SimulatedPort& port, PortEvent event) {
  for (const auto& client : port.clients) {
    client->inbox.emplace_back(PortNews{event, port.state});
    if (client->waker != nullptr) client->waker->wake();
  }
}

void FabricState::tellActivePorts(ResetReason reason) {
  for (SimulatedPort& port : ports) {
    if (!port.removed && port.state.active()) tell(port, {reason, {}});
  }
}

int FabricState::send(const std::shared_ptr<Endpoint>& client, const codec::MadBytes& mad,
                      uint16_t destinationLid) {
  const SimulatedPort* port = find(client->port);
  if (closed || port == nullptr) return kENODEV;
  counters.outstanding += 1;
  // The sender's hardware takes the MAD in all these cases; only the answer stays away.
  const bool drop = dropped.strikes(methodOf(mad));
  const bool lost = random.happens(requestLoss);
  if (drop || lost || !port->state.active() || destinationLid != port->state.smLid) {
    loseRequest();
    return kOk;
  }
  counters.outstandingPeak = std::max(counters.outstandingPeak, counters.outstanding);
  Parcel request;
  request.client = client;
  request.lid = port->state.lid;
  request.smLid = destinationLid;
  request.bytes = mad;
  codec::write32(request.bytes.data() + 8, client->id);
  sent_.push_back(std::move(request));
  wake();
  return kOk;
}

Instant FabricState::run(Instant now) {
  for (Parcel& request : sent_) toSm_.emplace(after(now, options.delay), std::move(request));
  sent_.clear();
  if (nextService_ == kNever && !queue_.empty()) nextService_ = serviceTime(now);

  // In the order of time, so that a late run gives the same result as a punctual one.
  for (;;) {
    const Instant arrival = toSm_.empty() ? kNever : toSm_.begin()->first;
    const Instant delivery = toClients_.empty() ? kNever : toClients_.begin()->first;
    const Instant next = std::min({arrival, nextService_, delivery});
    if (next > now || next == kNever) return next;
    if (next == arrival) {
      Parcel request = std::move(toSm_.begin()->second);
      toSm_.erase(toSm_.begin());
      arrive(next, std::move(request));
    } else if (next == nextService_) {
      serve(next);
    } else {
      Parcel answer = std::move(toClients_.begin()->second);
      toClients_.erase(toClients_.begin());
      deliver(std::move(answer));
    }
  }
}

Instant FabricState::serviceTime(Instant from) const {
  if (smSilent) return kNever;
  if (options.serviceRate <= 0) return from;
  return after(from, Duration{static_cast<Duration::rep>(1e6 / options.serviceRate)});
}

void FabricState::arrive(Instant at, Parcel request) {
  // After a takeover the old LID belongs to nobody.
  if (!smAlive || request.smLid != options.smLid) {
    loseRequest();
    return;
  }
  count(methodOf(request.bytes));
  queue_.push_back(std::move(request));
  if (nextService_ == kNever) nextService_ = serviceTime(at);
}

void FabricState::serve(Instant at) {
  Parcel request = std::move(queue_.front());
  queue_.pop_front();
  nextService_ = queue_.empty() ? kNever : serviceTime(at);

  codec::SaMad asked;
  codec::unpackSaMad(request.bytes.data(), request.bytes.size(), asked);
  if (forced.strikes(asked.method)) {
    const codec::SaMad refused = SubnetAdministrator::refusal(asked, forcedStatus);
    reply(at, std::move(request), refused, asked.method);
    return;
  }
  const auto answer = administrator.answer(asked, request.client->port);
  if (!answer) {
    counters.requestsRefused += 1;
    settle();
    return;
  }
  reply(at, std::move(request), *answer, asked.method);
}

void FabricState::reply(Instant at, Parcel parcel, const codec::SaMad& answer, uint8_t method) {
  const bool struck = replyLost.strikes(method);
  if (random.happens(replyLoss) || struck) {
    counters.repliesDropped += 1;
    settle();
    return;
  }
  codec::packSaMad(answer, parcel.bytes);
  const bool twice = random.happens(duplication);
  auto arrival = [&] {
    Instant due = after(at, options.delay);
    if (random.happens(reordering)) due = after(due, random.part(reorderingWindow));
    return due;
  };
  if (twice) {
    Parcel copy = parcel;
    copy.copy = true;
    counters.duplicates += 1;
    // Behind the first one where both are due at once.
    toClients_.emplace(arrival(), std::move(parcel));
    toClients_.emplace(arrival(), std::move(copy));
    return;
  }
  toClients_.emplace(arrival(), std::move(parcel));
}

void FabricState::deliver(Parcel parcel) {
  if (!parcel.copy) settle();
  const SimulatedPort* port = find(parcel.client->port);
  const bool open = port != nullptr && std::find(port->clients.begin(), port->clients.end(),
                                                 parcel.client) != port->clients.end();
  if (!open || !port->state.active() || port->state.lid != parcel.lid) {
    counters.repliesDropped += 1;
    return;
  }
  counters.replies += 1;
  ReceivedMad mad;
  mad.bytes.assign(parcel.bytes.begin(), parcel.bytes.end());
  mad.sourceLid = parcel.smLid;
  parcel.client->inbox.emplace_back(std::move(mad));
  if (parcel.client->waker != nullptr) parcel.client->waker->wake();
}

void FabricState::count(uint8_t method) {
  switch (static_cast<codec::SaMethod>(method)) {
    case codec::SaMethod::kGet:
      counters.gets += 1;
      break;
    case codec::SaMethod::kSet:
      counters.sets += 1;
      break;
    case codec::SaMethod::kGetTable:
      counters.getTables += 1;
      break;
    case codec::SaMethod::kDelete:
      counters.deletes += 1;
      break;
    default:
      counters.others += 1;
      break;
  }
}

void FabricState::settle() { counters.outstanding -= 1; }

void FabricState::loseRequest() {
  counters.requestsDropped += 1;
  settle();
}

void FabricState::loseEverythingOf(int port) {
  auto ofPort = [port](const Parcel& parcel) { return parcel.client->port == port; };
  const auto kept = std::remove_if(sent_.begin(), sent_.end(), ofPort);
  for (auto lost = kept; lost != sent_.end(); ++lost) loseRequest();
  sent_.erase(kept, sent_.end());
  for (auto parcel = toSm_.begin(); parcel != toSm_.end();) {
    if (!ofPort(parcel->second)) {
      ++parcel;
      continue;
    }
    loseRequest();
    parcel = toSm_.erase(parcel);
  }
  for (auto parcel = toClients_.begin(); parcel != toClients_.end();) {
    if (!ofPort(parcel->second)) {
      ++parcel;
      continue;
    }
    counters.repliesDropped += 1;
    if (!parcel->second.copy) settle();
    parcel = toClients_.erase(parcel);
  }
}

void FabricState::loseSm() {
  smAlive = false;
  smSilent = false;
  administrator.restart();
  for (size_t i = 0; i < queue_.size(); ++i) loseRequest();
  queue_.clear();
  nextService_ = kNever;
}

void FabricState::close(const std::shared_ptr<Endpoint>& client) {
  client->waker = nullptr;
  client->inbox.clear();
  auto& clients = ports[static_cast<size_t>(client->port)].clients;
  clients.erase(std::remove(clients.begin(), clients.end(), client), clients.end());
}

}  // namespace rxib::embedded
