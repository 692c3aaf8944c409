#include "embedded/fabric_state.h"

#include <algorithm>

#include "codec/byte_order.h"
#include "codec/inform_info.h"
#include "codec/sa_table.h"

namespace rxib::embedded {
namespace {

Gid portGid(uint64_t prefix, uint64_t guid) {
  Gid gid;
  codec::write64(gid.bytes.data(), prefix);
  codec::write64(gid.bytes.data() + 8, guid);
  return gid;
}

constexpr auto kReportResp = static_cast<uint8_t>(codec::SaMethod::kReportResp);
constexpr auto kNoticeAttribute = static_cast<uint16_t>(codec::SaAttribute::kNotice);

uint8_t methodOf(const codec::MadBytes& mad) { return mad[3]; }
uint8_t methodOf(const Parcel& parcel) { return parcel.bytes[3]; }

/** What of an answer reaches a client: a table as far as the wire carries it. */
std::vector<uint8_t> bytesOf(const SaAnswer& answer, bool rmpp) {
  codec::MadBytes mad;
  codec::packSaMad(answer.mad, mad);
  std::vector<uint8_t> bytes(mad.begin(), mad.end());
  if (!answer.isTable()) return bytes;
  bytes.resize(codec::kSaHeaderSize);
  bytes.insert(bytes.end(), answer.table.begin(), answer.table.end());
  // Without RMPP one MAD is sent, and the rest is dropped.
  if (!rmpp && bytes.size() > codec::kMadSize) bytes.resize(codec::kMadSize);
  return bytes;
}

}  // namespace

bool Fault::strikes(uint8_t requestMethod) {
  if (left == 0 || (method != kAnyMethod && method != requestMethod)) return false;
  if (left != kForever) --left;
  return true;
}

FabricState::FabricState(const FabricOptions& chosen)
    : options(chosen),
      administrator(
          {chosen.subnetPrefix, chosen.mlidPool, chosen.broadcastGroup, chosen.groupsPerMlid}),
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
    known.lid = port.state.lid;
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
  if (methodOf(mad) == kReportResp && codec::read16(mad.data() + 16) == kNoticeAttribute) {
    // An answer of the client's to a Report: the SM only stops repeating it, and ours never does.
    return kOk;
  }
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
  request.bytes.assign(mad.begin(), mad.end());
  codec::write32(request.bytes.data() + 8, client->id);
  sent_.push_back(std::move(request));
  wake();
  return kOk;
}

Instant FabricState::run(Instant now) {
  // What controls have done to groups since the last run.
  tellNews(now);
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
  count(methodOf(request));
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
    reply(at, std::move(request), {refused, {}}, asked.method);
    return;
  }
  const auto answer = administrator.answer(at, asked, request.client->port);
  if (!answer) {
    counters.requestsRefused += 1;
    settle();
  } else {
    reply(at, std::move(request), *answer, asked.method);
  }
  tellNews(at);
}

/** Reports what has happened to groups to the ports that asked for it. */
void FabricState::tellNews(Instant at) {
  for (const GroupNews& news : administrator.takeNews()) report(at, news);
}

void FabricState::report(Instant at, const GroupNews& news) {
  Notice notice;
  notice.isGeneric = true;
  notice.type = 3;          // subnet management
  notice.producerType = 4;  // class manager
  notice.trapNumber = news.trap;
  notice.issuerLid = options.smLid;
  codec::setNoticeGid(notice, news.mgid);
  for (int subscriber : news.subscribers) {
    const SimulatedPort* port = find(subscriber);
    if (port == nullptr || !port->state.active()) continue;
    notice.issuerGid = port->state.gid;
    codec::SaMad mad;
    mad.method = static_cast<uint8_t>(codec::SaMethod::kReport);
    mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kNotice);
    mad.transactionId = nextReport_++;
    codec::packNotice(notice, mad.data.data());
    codec::MadBytes bytes;
    codec::packSaMad(mad, bytes);
    for (const auto& client : port->clients) {
      if (!client->wantsReports) continue;
      Parcel parcel;
      parcel.client = client;
      parcel.lid = port->state.lid;
      parcel.smLid = options.smLid;
      parcel.news = true;
      parcel.bytes.assign(bytes.begin(), bytes.end());
      toClients_.emplace(after(at, options.delay), std::move(parcel));
    }
  }
}

void FabricState::reply(Instant at, Parcel parcel, const SaAnswer& answer, uint8_t method) {
  const bool struck = replyLost.strikes(method);
  if (random.happens(replyLoss) || struck) {
    counters.repliesDropped += 1;
    settle();
    return;
  }
  parcel.bytes = bytesOf(answer, options.rmpp);
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
  if (!parcel.copy && !parcel.news) settle();
  const SimulatedPort* port = find(parcel.client->port);
  const bool open = port != nullptr && std::find(port->clients.begin(), port->clients.end(),
                                                 parcel.client) != port->clients.end();
  if (!open || !port->state.active() || port->state.lid != parcel.lid) {
    if (!parcel.news) counters.repliesDropped += 1;
    return;
  }
  if (!parcel.news) counters.replies += 1;
  ReceivedMad mad;
  mad.bytes = std::move(parcel.bytes);
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
    if (!parcel->second.news) counters.repliesDropped += 1;
    if (!parcel->second.copy && !parcel->second.news) settle();
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

int FabricState::wantReports(const std::shared_ptr<Endpoint>& client, bool wanted) {
  const auto& clients = ports[static_cast<size_t>(client->port)].clients;
  const bool taken = std::any_of(clients.begin(), clients.end(), [&](const auto& other) {
    return other != client && other->wantsReports;
  });
  if (wanted && taken) return kEBUSY;
  client->wantsReports = wanted;
  return kOk;
}

void FabricState::close(const std::shared_ptr<Endpoint>& client) {
  client->waker = nullptr;
  client->inbox.clear();
  auto& clients = ports[static_cast<size_t>(client->port)].clients;
  clients.erase(std::remove(clients.begin(), clients.end(), client), clients.end());
}

}  // namespace rxib::embedded
