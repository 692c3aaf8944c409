#include "embedded/fabric.h"

#include <utility>

#include "embedded/fabric_state.h"

namespace rxib::embedded {

Fabric::Fabric(FabricOptions options) : state_(std::make_shared<FabricState>(options)) {}

Fabric::~Fabric() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->waker = nullptr;
  state_->closed = true;
  for (SimulatedPort& port : state_->ports) {
    if (port.removed) continue;
    port.state.phase = PortPhase::kDown;
    state_->tell(port, {ResetReason::kDeviceRemoved, {}});
  }
}

Instant Fabric::run(Instant now) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->run(now);
}

void Fabric::setWaker(Waker* waker) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->waker = waker;
  state_->wake();
}

int Fabric::portCount() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return static_cast<int>(state_->ports.size());
}

std::vector<PortInfo> Fabric::ports() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  std::vector<PortInfo> all;
  for (const SimulatedPort& port : state_->ports) {
    if (!port.removed) all.push_back({port.device, 1, port.state});
  }
  return all;
}

int Fabric::findPort(const std::string& device, int portNumber) const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  for (size_t i = 0; i < state_->ports.size(); ++i) {
    const SimulatedPort& port = state_->ports[i];
    if (!port.removed && port.device == device && portNumber == 1) return static_cast<int>(i);
  }
  return -1;
}

std::unique_ptr<MadTransport> Fabric::open(int port) {
  auto client = std::make_shared<Endpoint>();
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    SimulatedPort* found = state_->find(port);
    if (found == nullptr) return nullptr;
    client->port = port;
    client->id = state_->nextEndpointId_++;
    found->clients.push_back(client);
  }
  return makeTransport(state_, std::move(client));
}

void Fabric::setLoss(double request, double reply) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->requestLoss = request;
  state_->replyLoss = reply;
}

void Fabric::setDelay(Duration delay) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->options.delay = delay;
}

void Fabric::dropNext(uint32_t count, uint8_t method) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->dropped = {count, method};
}

void Fabric::setReplyLost(uint32_t count, uint8_t method) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->replyLost = {count, method};
}

void Fabric::setDuplication(double probability) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->duplication = probability;
}

void Fabric::setReordering(double probability, Duration window) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->reordering = probability;
  state_->reorderingWindow = window;
}

void Fabric::setForcedStatus(uint16_t status, uint32_t count, uint8_t method) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->forced = {count, method};
  state_->forcedStatus = status;
}

void Fabric::setServiceRate(double perSecond) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->options.serviceRate = perSecond;
  // The request being served is begun anew at the new rate.
  state_->nextService_ = kNever;
  state_->wake();
}

void Fabric::silence() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->smAlive) return;
  state_->smSilent = true;
  state_->nextService_ = kNever;
}

void Fabric::resume() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->smSilent = false;
  state_->wake();
}

void Fabric::killSm() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->loseSm();
}

void Fabric::startSm() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->smAlive = true;
}

void Fabric::restartSm(bool reregister) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->loseSm();
  state_->smAlive = true;
  if (reregister) state_->tellActivePorts(ResetReason::kClientReregister);
}

void Fabric::takeover(uint16_t newSmLid) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->loseSm();
  state_->smAlive = true;
  state_->options.smLid = newSmLid;
  for (SimulatedPort& port : state_->ports) port.state.smLid = newSmLid;
  state_->tellActivePorts(ResetReason::kSmChange);
}

void Fabric::portDown(int port) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || !found->state.active()) return;
  found->state.phase = PortPhase::kDown;
  state_->loseEverythingOf(port);
  state_->administrator.port(port).present = false;
  state_->administrator.forgetMembershipsOf(port);
  state_->wake();
  state_->tell(*found, {ResetReason::kPortError, {}});
}

void Fabric::portUp(int port) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || found->state.active()) return;
  found->state.phase = PortPhase::kActive;
  state_->administrator.port(port).present = true;
  state_->tell(*found, {ResetReason::kNone, {}});
}

void Fabric::changeLid(int port, uint16_t lid) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || found->state.lid == lid) return;
  found->state.lid = lid;
  state_->administrator.port(port).lid = lid;
  state_->tell(*found, {ResetReason::kLidChange, {}});
}

void Fabric::changeGid(int port, const Gid& gid) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || found->state.gid == gid) return;
  found->state.gid = gid;
  state_->administrator.forgetMembershipsOf(port);
  state_->wake();
  state_->administrator.port(port).gid = gid;
  state_->tell(*found, {ResetReason::kGidChange, {}});
}

void Fabric::setPkeys(int port, std::vector<uint16_t> table) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || found->state.pkeys == table) return;
  PortEvent event{ResetReason::kPkeyChange, std::move(found->state.pkeys)};
  state_->administrator.port(port).pkeys = table;
  found->state.pkeys = std::move(table);
  state_->tell(*found, std::move(event));
}

void Fabric::setPortLimits(int port, uint8_t mtu, uint8_t rate) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->find(port) == nullptr) return;
  KnownPort& known = state_->administrator.port(port);
  known.mtu = mtu;
  known.rate = rate;
}

void Fabric::clientReregister(int port) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr || !found->state.active()) return;
  state_->tell(*found, {ResetReason::kClientReregister, {}});
}

void Fabric::removeDevice(int port) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  SimulatedPort* found = state_->find(port);
  if (found == nullptr) return;
  found->state.phase = PortPhase::kDown;
  state_->loseEverythingOf(port);
  state_->administrator.port(port).present = false;
  state_->administrator.forgetMembershipsOf(port);
  state_->wake();
  state_->tell(*found, {ResetReason::kDeviceRemoved, {}});
  found->removed = true;
}

std::vector<Member> Fabric::members() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->administrator.members();
}

std::vector<Gid> Fabric::groups() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->administrator.groups();
}

FabricCounters Fabric::counters() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  FabricCounters counters = state_->counters;
  counters.queued = state_->queue_.size();
  counters.inFlight = state_->sent_.size() + state_->toSm_.size() + state_->toClients_.size();
  counters.groups = state_->administrator.groupCount();
  counters.members = state_->administrator.memberCount();
  counters.freeMlids = state_->administrator.freeMlids();
  return counters;
}

}  // namespace rxib::embedded
