#include "addon/environment.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "addon/ask_exchange.h"
#include "addon/exchange.h"
#include "addon/fabric_control.h"
#include "addon/port_registry.h"
#include "addon/record_codec.h"
#include "addon/values.h"
#include "codec/mc_member_record.h"
#include "core/status.h"
#include "core/unpredictable.h"
#include "sa/subscription.h"
#if RXIB_WITH_RDMA
#include "rdmacm/system.h"
#include "umad/discovery.h"
#include "umad/umad_transport.h"
#endif

namespace rxib::addon {
namespace {

// JavaScript has the loop to itself again after so much dispatching.
constexpr Duration kDispatchBudget = std::chrono::milliseconds{4};

// A loop that is woken for each completion of a burst spends more on waking than on the
// completions.
constexpr Duration kHandOverDelay{1000};

// Joins and frees that JavaScript makes in one go reach the engine together; flush() ends the wait.
constexpr int kGather = 64;

// Handles are unique in the process, since environments share ports.
std::atomic<HandleId> nextHandle{1};

double* attached(Napi::Env env, double* slots) {
  if (slots == nullptr) throw Napi::Error::New(env, "nothing is attached");
  return slots;
}

/** An Error that the binding turns into a MulticastError. */
Napi::Error failure(Napi::Env env, int status, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("status", Napi::Number::New(env, status));
  return error;
}

sa::Options readSaOptions(const Napi::Object& options) {
  sa::Options sa;
  sa.requestTimeout = milliseconds(numberOr(options, "requestTimeoutMs", 3000));
  sa.attempts = static_cast<int>(numberOr(options, "attempts", sa.attempts));
  sa.maxOutstanding = static_cast<int>(numberOr(options, "maxOutstanding", sa.maxOutstanding));
  sa.auditInterval = milliseconds(numberOr(options, "auditIntervalMs", 10000));
  sa.staleLeave = milliseconds(numberOr(options, "staleLeaveMs", 30000));
  const std::string probe = textOr(options, "probe");
  if (probe == "always") sa.probe = sa::Probe::kAlways;
  if (probe == "never") sa.probe = sa::Probe::kNever;
  return sa;
}

}  // namespace

Environment::Environment(Napi::Env env) { outbox_->open(env, *this); }

Environment::~Environment() {
  // Worker termination and the natural end of the main thread; process.on('exit') came before, if
  // it came at all, and has left nothing to do.
  outbox_->close();
  leaveAll(exitDrain_, false);
}

Napi::Value Environment::attach(const Napi::CallbackInfo& info) {
  const size_t lengths[] = {kBatch * kCompletionSlots, kRequestSlots, kAskSlots};
  double* slots[3];
  for (size_t i = 0; i < 3; ++i) slots[i] = slotsOf(info, i, lengths[i]);
  incoming_ = slots[0];
  outgoing_ = slots[1];
  questions_ = slots[2];
  for (size_t i = 0; i < 3; ++i) arrays_[i] = Napi::Persistent(info[i].As<Napi::Float64Array>());
  dispatch_ = Napi::Persistent(info[3].As<Napi::Function>());
  note_ = Napi::Persistent(info[4].As<Napi::Function>());
  return info.Env().Undefined();
}

Napi::Value Environment::openPort(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const std::string kind = info[0].As<Napi::String>();
  const Napi::Object options = info[1].As<Napi::Object>();
  if (ended_) throw failure(env, kENODEV, "the process is exiting");
  PortSettings settings;
  settings.sa = readSaOptions(options);
  settings.sa.seed = unpredictable();
  settings.sa.gather = kGather;
  settings.sa.handOverDelay = kHandOverDelay;
  settings.pollInterval = milliseconds(numberOr(options, "pollIntervalMs", 250));
  exitDrain_ = std::max(exitDrain_, milliseconds(numberOr(options, "exitDrainMs", 2000)));

  Opened opened;
  if (kind == "embedded") {
    const auto id = static_cast<uint32_t>(numberOr(options, "fabric", 0));
    const auto index = static_cast<int>(numberOr(options, "index", 0));
    auto found = fabrics_.find(id);
    if (found == fabrics_.end()) throw failure(env, kENODEV, "the embedded fabric is closed");
    opened.host = found->second;
    auto transport = opened.host->fabric().open(index);
    if (transport == nullptr) {
      throw failure(env, kENODEV, "the device has been removed from the embedded fabric");
    }
    if (ManualDriver* driver = opened.host->manual()) {
      settings.sa.seed = static_cast<uint64_t>(numberOr(options, "seed", 1));
      // Completions are taken at every instant, and nobody is to be woken.
      settings.sa.handOverDelay = Duration{0};
      opened.port = std::make_shared<OpenSaPort>(std::move(transport), settings.sa, *driver);
    } else {
      opened.port = std::make_shared<OpenSaPort>(std::move(transport), settings.sa);
    }
  } else {
    const std::string device = options.Get("device").As<Napi::String>();
    const auto port = static_cast<uint8_t>(numberOr(options, "port", 1));
    PortRegistry& registry = PortRegistry::instance();
    OpenResult result =
        kind == "rdmacm"
            ? registry.openRdmaCm(device, port, textOr(options, "portSpace") == "ipoib",
                                  textOr(options, "sourceAddress"))
            : registry.openUmad(device, port, settings);
    if (result.port == nullptr) throw failure(env, result.status, result.message);
    opened.port = std::move(result.port);
  }
  // A port that this environment has already opened keeps its number.
  for (auto& [id, known] : ports_) {
    if (known.port == opened.port) return Napi::Number::New(env, id);
  }
  const uint32_t id = ++lastPort_;
  opened.sink = std::make_shared<PortSink>(outbox_, id);
  opened.port->engine().attach(opened.sink);
  ports_.emplace(id, std::move(opened));
  return Napi::Number::New(env, id);
}

Napi::Value Environment::leaveStale(const Napi::CallbackInfo& info) {
  opened(info).port->engine().leaveStale();
  return info.Env().Undefined();
}

Napi::Value Environment::closePort(const Napi::CallbackInfo& info) {
  auto found = ports_.find(info[0].As<Napi::Number>().Uint32Value());
  if (found != ports_.end()) {
    found->second.port->engine().detach(found->second.sink);
    ports_.erase(found);
  }
  return info.Env().Undefined();
}

Environment::Opened& Environment::opened(const Napi::CallbackInfo& info) {
  auto found = ports_.find(info[0].As<Napi::Number>().Uint32Value());
  if (found == ports_.end()) throw failure(info.Env(), kENODEV, "the port is closed");
  return found->second;
}

Napi::Value Environment::join(const Napi::CallbackInfo& info) {
  if (ended_) throw failure(info.Env(), kENODEV, "the process is exiting");
  Opened& port = opened(info);
  const HandleId id = nextHandle.fetch_add(1, std::memory_order_relaxed);
  port.port->engine().join(id, readRequest(attached(info.Env(), outgoing_)), port.sink.get());
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

Napi::Value Environment::ask(const Napi::CallbackInfo& info) {
  if (ended_) throw failure(info.Env(), kENODEV, "the process is exiting");
  Opened& port = opened(info);
  const HandleId id = nextHandle.fetch_add(1, std::memory_order_relaxed);
  const auto trap = static_cast<uint16_t>(info[2].As<Napi::Number>().Uint32Value());
  const AskSpec spec = trap != 0 ? sa::subscriptionTo(trap)
                                 : readAsk(attached(info.Env(), questions_),
                                           milliseconds(info[1].As<Napi::Number>().DoubleValue()));
  if (!port.port->engine().ask(id, spec, port.sink.get())) {
    throw failure(info.Env(), kEOPNOTSUPP, "this provider cannot ask the subnet administrator");
  }
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

Napi::Value Environment::memberRecord(const Napi::CallbackInfo& info) {
  double* slots = attached(info.Env(), outgoing_);
  const auto record = opened(info).port->engine().memberRecord(readRecord(slots + 1).mgid);
  if (record) writeRecord(*record, slots + 1);
  return Napi::Boolean::New(info.Env(), record.has_value());
}

Napi::Value Environment::free(const Napi::CallbackInfo& info) {
  auto found = ports_.find(info[0].As<Napi::Number>().Uint32Value());
  if (found != ports_.end()) {
    found->second.port->engine().free(
        static_cast<HandleId>(info[1].As<Napi::Number>().DoubleValue()));
  }
  return info.Env().Undefined();
}

Napi::Value Environment::flush(const Napi::CallbackInfo& info) {
  flushPorts();
  return info.Env().Undefined();
}

void Environment::flushPorts() {
  for (auto& [id, opened] : ports_) opened.port->engine().flush();
}

Napi::Value Environment::stats(const Napi::CallbackInfo& info) {
  const PortStats stats = opened(info).port->engine().stats();
  const Counter* counters = reinterpret_cast<const Counter*>(&stats);
  constexpr size_t kCount = sizeof(PortStats) / sizeof(Counter);
  static_assert(sizeof(PortStats) % sizeof(Counter) == 0, "PortStats holds counters only");
  double* out = slotsOf(info, 1, kCount);
  for (size_t i = 0; i < kCount; ++i) out[i] = static_cast<double>(counters[i].get());
  return info.Env().Undefined();
}

Napi::Value Environment::portState(const Napi::CallbackInfo& info) {
  return portInfo(info.Env(), "", 0, opened(info).port->engine().state());
}

Napi::Value Environment::unsettled(const Napi::CallbackInfo& info) {
  auto found = ports_.find(info[0].As<Napi::Number>().Uint32Value());
  return Napi::Boolean::New(info.Env(),
                            found != ports_.end() && found->second.port->engine().unsettled());
}

Napi::Value Environment::hold(const Napi::CallbackInfo& info) {
  outbox_->hold(info.Env(), info[0].As<Napi::Boolean>());
  return info.Env().Undefined();
}

Napi::Value Environment::drain(const Napi::CallbackInfo& info) {
  ended_ = true;
  const bool settled =
      leaveAll(milliseconds(info[0].As<Napi::Number>().DoubleValue()), info[1].As<Napi::Boolean>());
  return Napi::Boolean::New(info.Env(), settled);
}

/**
 * Frees what this environment holds and waits for the Deletes. When the main thread exits, workers
 * are ended after it, by then without the threads that could send anything: so their memberships
 * are left here, too.
 */
bool Environment::leaveAll(Duration limit, bool wholeProcess) {
  ended_ = true;
  std::vector<std::shared_ptr<OpenPort>> ports;
  for (auto& [id, opened] : ports_) ports.push_back(opened.port);
  if (wholeProcess) {
    for (auto& port : PortRegistry::instance().openPorts()) {
      if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
    }
  }
  if (wholeProcess) {
    for (auto& port : ports) port->engine().leaveAll();
  } else {
    for (auto& [id, opened] : ports_) opened.port->engine().detach(opened.sink);
  }
  const Instant deadline = after(steadyNow(), limit);
  bool settled = true;
  for (auto& port : ports) {
    // Nobody moves a manual clock any more.
    if (port->manual()) continue;
    const Duration left = std::max(Duration{0}, deadline - steadyNow());
    settled = port->engine().waitSettled(left) && settled;
  }
  if (wholeProcess) {
    for (auto& port : ports) port->stop();
    for (auto& [id, host] : fabrics_) host->stop();
  }
  return settled;
}

Napi::Value Environment::discover(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const std::string kind = info[0].As<Napi::String>();
  Napi::Array list = Napi::Array::New(env);
  uint32_t count = 0;
  std::vector<PortInfo> ports;
  if (kind == "rdmacm") {
#if RXIB_WITH_RDMA
    rdmacm::Discovery found = rdmacm::discover();
    if (found.verdict.status != kOk) {
      throw failure(env, found.verdict.status, found.verdict.message);
    }
    for (const rdmacm::ReachablePort& port : found.ports) {
      Napi::Object info = portInfo(env, port.info.device, port.info.port, port.info.state);
      Napi::Array addresses = Napi::Array::New(env);
      for (uint32_t i = 0; i < port.addresses.size(); ++i) {
        addresses.Set(i, port.addresses[i].text());
      }
      info.Set("addresses", addresses);
      list.Set(count++, info);
    }
    return list;
#else
    throw failure(env, kEOPNOTSUPP, "this build has no rdmacm provider: it exists on Linux only");
#endif
  }
  if (kind == "embedded") {
    auto found = fabrics_.find(info[1].As<Napi::Number>().Uint32Value());
    if (found != fabrics_.end()) ports = found->second->fabric().ports();
  } else {
#if RXIB_WITH_RDMA
    auto discovery = umad::discover();
    if (discovery.status != kOk) throw failure(env, discovery.status, discovery.message);
    ports = std::move(discovery.ports);
#else
    throw failure(env, kEOPNOTSUPP, "this build has no umad provider: it exists on Linux only");
#endif
  }
  const bool withGids = info[2].ToBoolean();
  for (const PortInfo& port : ports) {
    Napi::Object listed = portInfo(env, port.device, port.port, port.state);
    if (withGids) {
      std::vector<Gid> gids{port.state.gid};
#if RXIB_WITH_RDMA
      if (kind == "umad") gids = umad::gidTable(port);
#endif
      Napi::Array table = Napi::Array::New(env, gids.size());
      for (uint32_t i = 0; i < gids.size(); ++i) table.Set(i, gidWords(env, gids[i]));
      listed.Set("gidTable", table);
    }
    list.Set(count++, listed);
  }
  return list;
}

Napi::Value Environment::fabric(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const std::string verb = info[0].As<Napi::String>();
  if (verb == "create") {
    const Napi::Object options = info[1].As<Napi::Object>();
    const bool manual = options.Get("manual").ToBoolean();
    const uint32_t id = ++lastFabric_;
    fabrics_.emplace(id, std::make_shared<FabricHost>(readFabricOptions(options), manual));
    return Napi::Number::New(env, id);
  }
  auto found = fabrics_.find(info[1].As<Napi::Number>().Uint32Value());
  if (found == fabrics_.end()) {
    if (verb == "close") return env.Undefined();
    throw failure(env, kENODEV, "the embedded fabric is closed");
  }
  // A control may call back into JavaScript, which may close the fabric.
  std::shared_ptr<FabricHost> host = found->second;
  if (verb == "close") {
    fabrics_.erase(found);
    return env.Undefined();
  }
  if (verb == "tick") {
    tick(env, *host, milliseconds(info[2].As<Napi::Number>().DoubleValue()));
    return env.Undefined();
  }
  return controlFabric(info, host->fabric(), verb);
}

/**
 * Moves a manual clock, event by event: what a handler does in answer to an event happens at that
 * event's instant and not at the end of the tick.
 */
void Environment::tick(Napi::Env env, FabricHost& host, Duration by) {
  ManualDriver* driver = host.manual();
  if (driver == nullptr) throw Napi::TypeError::New(env, "this fabric runs in real time");
  const Instant target = after(driver->now(), by);
  // Handlers that answer every event with another one at the same instant would never end.
  constexpr int kEventsPerInstant = 100000;
  Instant last = driver->now();
  int repeated = 0;
  for (;;) {
    flushPorts();
    driver->advanceOnce(target);
    // Inside a handler nothing can be delivered until it has returned.
    const bool busy = !delivering_ && !outbox_->empty();
    deliver(env, true);
    repeated = driver->now() == last ? repeated + 1 : 0;
    last = driver->now();
    if (repeated > kEventsPerInstant) {
      throw Napi::Error::New(env, "the clock stands still: handlers keep answering each other");
    }
    if (driver->now() >= target && !busy) return;
  }
}

void Environment::serve(Napi::Env env) {
  deliver(env, false);
  if (outbox_->served()) return;
  // Another wake from here would be served before the loop turns: node calls a thread-safe function
  // up to a thousand times in a row.
  Napi::HandleScope scope(env);
  dispatch_.Call({Napi::Number::New(env, -1)});
}

Napi::Value Environment::resume(const Napi::CallbackInfo& info) {
  serve(info.Env());
  return info.Env().Undefined();
}

void Environment::deliver(Napi::Env env, bool everything) {
  // A handler that advances a manual clock gets its events when it has returned.
  if (delivering_ || dispatch_.IsEmpty()) return;
  delivering_ = true;
  const Instant until = steadyNow() + kDispatchBudget;
  try {
    for (;;) {
      outbox_->take(kBatch, batch_);
      if (batch_.empty()) break;
      Napi::HandleScope scope(env);
      size_t tableAt = 0;
      for (size_t i = 0; i < batch_.size(); ++i) {
        writeCompletion(batch_[i], tableAt, incoming_ + i * kCompletionSlots);
        if (batch_[i].table != nullptr) tableAt += batch_[i].table->bytes.size();
      }
      dispatch_.Call(
          {Napi::Number::New(env, static_cast<double>(batch_.size())), tableBytes(env, batch_)});
      // What handlers have asked for does not wait for the rest of the batches.
      flushPorts();
      if (!everything && steadyNow() >= until) break;
    }
    for (const auto& [port, d] : outbox_->takeNotes()) {
      Napi::HandleScope scope(env);
      note_.Call({Napi::Number::New(env, port), Napi::Number::New(env, static_cast<double>(d.kind)),
                  gidWords(env, d.mgid), Napi::Number::New(env, d.status),
                  Napi::Number::New(env, d.saStatus ? *d.saStatus : -1),
                  Napi::Number::New(env, static_cast<double>(d.reason))});
    }
    if (outbox_->takeSettled()) {
      Napi::HandleScope scope(env);
      dispatch_.Call({Napi::Number::New(env, 0)});
    }
  } catch (...) {
    delivering_ = false;
    throw;
  }
  delivering_ = false;
}

Napi::Value Environment::codec(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const std::string verb = info[0].As<Napi::String>();
  if (verb == "packMcMemberRecord") {
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, kMcMemberRecordSize);
    rxib::codec::packMcMemberRecord(readRequest(attached(env, outgoing_)).record, bytes.Data());
    return bytes;
  }
  if (verb == "unpackMcMemberRecord") {
    const BytesFrom bytes(info[1], info[2]);
    McMemberRecord record;
    if (!rxib::codec::unpackMcMemberRecord(bytes.data, bytes.size, record)) {
      return Napi::Boolean::New(env, false);
    }
    writeRecord(record, attached(env, outgoing_) + 1);
    return Napi::Boolean::New(env, true);
  }
  if (auto result = recordCodec(info, verb)) return *result;
  throw Napi::TypeError::New(env, "no such codec function: " + verb);
}

}  // namespace rxib::addon
