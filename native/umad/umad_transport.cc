#include "umad/umad_transport.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

#include "codec/byte_order.h"
#include "core/descriptors.h"
#include "core/unpredictable.h"
#include "umad/discovery.h"
#include "umad/port_change.h"
#include "umad/port_claim.h"
#include "umad/receiver.h"
#include "umad/smp.h"

namespace rxib::umad {
namespace {

using rdma::PortReport;

constexpr int kSaQpn = 1;
constexpr int kSmiQpn = 0;
constexpr int kSaQkey = static_cast<int>(0x80010000u);
constexpr int kPermissiveLid = 0xffff;
constexpr uint8_t kRmppVersion = 1;
constexpr uint8_t kNoRmpp = 0;
constexpr size_t kMethodBits = 128;  // of an agent's method mask
constexpr uint8_t kResponseBit = 0x80;
// The kernel keeps a request longer than the SA client waits for its answer, so that the client's
// timer, and never the kernel's, ends the attempt.
constexpr int kKernelSlackMs = 1000;
// The own node answers within microseconds.
constexpr auto kSweepLimit = std::chrono::milliseconds{150};
constexpr uint64_t kSaInterfaceId = 0x0200000000000002ull;

int clampMilliseconds(Duration duration) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<long long>(milliseconds, 1, INT_MAX / 2));
}

/** One look at the port by SMPs: PortInfo, and every block of the P_Key table. */
struct Sweep {
  bool running = false;
  Instant deadline = kNever;
  uint32_t firstTid = 0;  // of PortInfo; the blocks' follow
  size_t blocks = 0;
  std::vector<bool> answered;
  bool gotPortInfo = false;
  PortState found;
};

class UmadTransport final : public MadTransport {
 public:
  UmadTransport(std::shared_ptr<const rdma::UmadLibrary> library, std::unique_ptr<PortClaim> claim,
                std::string device, uint8_t number, int port, PortState state,
                Duration pollInterval)
      : library_(std::move(library)),
        claim_(std::move(claim)),
        device_(std::move(device)),
        number_(number),
        port_(port),
        pollInterval_(pollInterval),
        state_(std::move(state)),
        nextTid_(static_cast<uint32_t>(unpredictable())),
        buffer_(library_->headerSize() + codec::kMadSize),
        receiver_(library_, device_, port) {}
  ~UmadTransport() override { stop(); }

  /** Registers with the kernel and takes a first look; false when the SA agent is refused. */
  bool setUp(std::unique_ptr<rdma::PortEventSource> events) {
    saAgent_ = library_->registerAgent(port_, codec::kClassSubnAdm, codec::kSaClassVersion,
                                       kRmppVersion, nullptr);
    if (saAgent_ < 0) return false;
    // A virtual function may have no access to QP0; sysfs then has to do.
    smiAgent_ = library_->registerAgent(port_, kClassSubnDirected, kSmpClassVersion, 0, nullptr);
    receiver_.start();
    events_ = std::move(events);
    refresh();
    return true;
  }

  void start(Waker& waker) override {
    if (events_ != nullptr) events_->start(waker);
    // Last, since the receiver's thread runs the SA client whenever something has come.
    receiver_.announceTo(waker);
  }

  Instant poll(Instant now, Listener& listener) override {
    if (stopped_) return kNever;
    for (const ReceivedMad& mad : receiver_.takeMads()) listener.onMad(mad);
    if (removed_) return kNever;
    if (receiver_.deviceGone()) {
      remove(listener);
      return kNever;
    }
    if (events_ != nullptr) {
      takeReports(listener);
      return kNever;
    }
    return pollPort(now, listener);
  }

  int send(const codec::MadBytes& mad, uint16_t destinationLid, uint8_t sl,
           Duration attemptTimeout) override {
    if (removed_) return kENODEV;
    if (stopped_) return kEIO;
    address(destinationLid, kSaQpn, sl, kSaQkey);
    library_->setPkey(buffer_.data(), defaultPkeyIndex());
    // A port without a LID is reached and heard through global routes alone.
    if ((events_ != nullptr && events_->needsGrh()) || state_.lid == 0) addGrh();
    const bool answered = (mad[3] & kResponseBit) == 0;
    return transmit(saAgent_, mad,
                    answered ? clampMilliseconds(attemptTimeout) + kKernelSlackMs : 0);
  }

  const PortState& port() const override { return state_; }

  void watch(bool wanted) override {
    if (wanted == watching_ || stopped_) return;
    watching_ = wanted;
    nextLook_.reset();
    if (!wanted || removed_) return;
    // Verbs events are followed all the time, so with them the state is as fresh as it gets.
    if (events_ == nullptr) refresh();
  }

  int wantReports(bool wanted) override {
    if (stopped_ || removed_) return kENODEV;
    if (wanted == reporting_) return kOk;
    if (!wanted) {
      reporting_ = false;
      receiver_.retire(reportAgent_);
      return kOk;
    }
    reporting_ = receiver_.keep();
    if (reporting_) return kOk;
    // An agent of its own: this method mask is refused where another program has it, and that must
    // not stand in the way of anything else.
    long methods[kMethodBits / (8 * sizeof(long))] = {};
    methods[0] = 1L << static_cast<unsigned>(codec::SaMethod::kReport);
    reportAgent_ = library_->registerAgent(port_, codec::kClassSubnAdm, codec::kSaClassVersion,
                                           kNoRmpp, methods);
    reporting_ = reportAgent_ >= 0;
    return reporting_ ? kOk : kEBUSY;
  }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    // From the outside in: who wakes, who reads, whom the kernel delivers to, the port itself, and
    // last the claim, after which the next opener may come.
    if (events_ != nullptr) events_->stop();
    receiver_.stop();
    if (smiAgent_ >= 0) library_->unregisterAgent(port_, smiAgent_);
    if (saAgent_ >= 0) library_->unregisterAgent(port_, saAgent_);
    if (reporting_ || receiver_.keep()) library_->unregisterAgent(port_, reportAgent_);
    library_->closePort(port_);
    claim_.reset();
  }

 private:
  void address(int lid, int qpn, int sl, int qkey) {
    std::fill(buffer_.begin(), buffer_.end(), uint8_t{0});
    library_->setAddress(buffer_.data(), lid, qpn, sl, qkey);
  }

  void addGrh() {
    rdma::abi::UmadAddress route{};
    std::copy(state_.gid.bytes.begin(), state_.gid.bytes.begin() + 8, route.gid);
    codec::write64(route.gid + 8, kSaInterfaceId);
    route.hopLimit = 1;
    library_->setGrh(buffer_.data(), &route);
  }

  int transmit(int agent, const codec::MadBytes& mad, int timeoutMs) {
    auto* out = static_cast<uint8_t*>(library_->mad(buffer_.data()));
    std::copy(mad.begin(), mad.end(), out);
    // Beforehand, since the answer may be read before send() has returned.
    if (timeoutMs > 0) receiver_.expectOne();
    errno = 0;
    const int result = library_->send(port_, agent, buffer_.data(),
                                      static_cast<int>(codec::kMadSize), timeoutMs, 0);
    if (result >= 0) return kOk;
    const int error = errno;
    if (timeoutMs > 0) receiver_.expectOneLess();
    return error != 0 ? -error : kEIO;
  }

  /** Where the default partition stands now; the full member's key is the better one. */
  int defaultPkeyIndex() const {
    for (const uint16_t wanted : {uint16_t{0xffff}, uint16_t{0x7fff}}) {
      const auto found = std::find(state_.pkeys.begin(), state_.pkeys.end(), wanted);
      if (found != state_.pkeys.end()) return static_cast<int>(found - state_.pkeys.begin());
    }
    return 0;
  }

  // The port by verbs events: sysfs follows the hardware, so it is read whenever something came.

  void takeReports(Listener& listener) {
    unsigned seen = 0;
    for (PortReport report; events_->take(report);) seen |= 1u << static_cast<unsigned>(report);
    if (seen == 0) return;
    auto has = [seen](PortReport report) {
      return (seen & 1u << static_cast<unsigned>(report)) != 0;
    };
    if (has(PortReport::kDeviceFatal)) {
      remove(listener);
      return;
    }
    const PortState before = state_;
    if (auto fresh = readPort(*library_, device_, number_)) state_ = std::move(*fresh);
    if (has(PortReport::kPortError)) {
      // Before the port came up again, if it has: everything on it was lost in between. A report
      // that comes before sysfs knows is believed.
      if (!has(PortReport::kPortActive)) state_.phase = PortPhase::kDown;
      listener.onPortEvent({ResetReason::kPortError, {}});
      if (state_.active() && !stopped_) listener.onPortEvent({ResetReason::kNone, {}});
      return;
    }
    PortEvent event;
    if (has(PortReport::kLidChange)) {
      event.reason = ResetReason::kLidChange;
    } else if (has(PortReport::kSmChange)) {
      event.reason = ResetReason::kSmChange;
    } else if (has(PortReport::kClientReregister)) {
      event.reason = ResetReason::kClientReregister;
    } else if (auto change = portChange(before, state_)) {
      // A GID or P_Key event may be about an index that is none of ours.
      event = std::move(*change);
    } else if (!has(PortReport::kPortActive)) {
      return;
    }
    listener.onPortEvent(event);
  }

  void remove(Listener& listener) {
    removed_ = true;
    state_.phase = PortPhase::kDown;
    // Before anybody is told: the device may be back, and opened anew, at once.
    claim_.reset();
    listener.onPortEvent({ResetReason::kDeviceRemoved, {}});
  }

  // The port by looking at it.

  Instant pollPort(Instant now, Listener& listener) {
    collect(receiver_.takeSmps());
    if (sweep_.running && (complete() || now >= sweep_.deadline)) {
      std::optional<PortState> found = finishSweep();
      if (found && watching_) update(std::move(*found), listener);
    }
    if (!watching_ || stopped_) return sweep_.running ? sweep_.deadline : kNever;
    if (!nextLook_) nextLook_ = after(now, pollInterval_);
    if (sweep_.running) return std::min(sweep_.deadline, *nextLook_);
    if (now >= *nextLook_) {
      nextLook_ = after(now, pollInterval_);
      if (looksBySmp_) {
        if (beginSweep(now)) return std::min(sweep_.deadline, *nextLook_);
      } else if (auto fresh = readPort(*library_, device_, number_)) {
        update(std::move(*fresh), listener);
      }
    }
    return *nextLook_;
  }

  void update(PortState fresh, Listener& listener) {
    const auto change = portChange(state_, fresh);
    state_ = std::move(fresh);
    if (change) listener.onPortEvent(*change);
  }

  /** Looks now, and waits for the answer. */
  void refresh() {
    if (events_ == nullptr && smiAgent_ >= 0) {
      receiver_.takeSmps();
      const Instant limit = after(steadyNow(), kSweepLimit);
      if (beginSweep(steadyNow())) {
        for (Instant now = steadyNow(); !complete() && now < limit && !receiver_.deviceGone();
             now = steadyNow()) {
          collect(receiver_.takeSmps(limit - now));
        }
        if (auto found = finishSweep()) {
          looksBySmp_ = true;
          state_ = std::move(*found);
          return;
        }
      }
    }
    // Where SMPs have worked before, sysfs may well be the staler of the two.
    if (looksBySmp_) return;
    if (auto fresh = readPort(*library_, device_, number_)) state_ = std::move(*fresh);
  }

  bool beginSweep(Instant now) {
    sweep_ = Sweep{};
    sweep_.blocks = (state_.pkeys.size() + kPkeysPerBlock - 1) / kPkeysPerBlock;
    sweep_.answered.resize(1 + sweep_.blocks);
    sweep_.found = state_;
    sweep_.firstTid = nextTid_;
    nextTid_ += static_cast<uint32_t>(1 + sweep_.blocks);
    sweep_.deadline = after(now, kSweepLimit);
    if (!ask(SmpAttribute::kPortInfo, 0, sweep_.firstTid)) return false;
    sweep_.running = true;
    for (size_t block = 0; block < sweep_.blocks; ++block) {
      const auto modifier = static_cast<uint32_t>(block);
      if (!ask(SmpAttribute::kPkeyTable, modifier, sweep_.firstTid + 1 + modifier)) {
        sweep_.answered[1 + block] = true;
      }
    }
    return true;
  }

  bool ask(SmpAttribute attribute, uint32_t modifier, uint32_t transactionId) {
    codec::MadBytes mad;
    packSmpGet(attribute, modifier, transactionId, mad);
    address(kPermissiveLid, kSmiQpn, 0, 0);
    library_->setPkey(buffer_.data(), 0);
    return transmit(smiAgent_, mad, clampMilliseconds(kSweepLimit) + kKernelSlackMs) == kOk;
  }

  void collect(const std::vector<ReceivedMad>& smps) {
    for (const ReceivedMad& mad : smps) {
      SmpReply reply;
      if (!sweep_.running || !unpackSmpReply(mad.bytes.data(), mad.bytes.size(), reply)) continue;
      const uint32_t index = reply.transactionId - sweep_.firstTid;
      if (index >= sweep_.answered.size() || sweep_.answered[index]) continue;
      if (index == 0 && reply.attribute == SmpAttribute::kPortInfo) {
        sweep_.answered[0] = true;
        if (reply.status != 0) continue;
        readPortInfo(reply.data, sweep_.found);
        sweep_.gotPortInfo = true;
      } else if (index > 0 && reply.attribute == SmpAttribute::kPkeyTable) {
        sweep_.answered[index] = true;
        // A block that is refused stays as it was known.
        if (reply.status == 0) readPkeyBlock(reply.data, index - 1, sweep_.found.pkeys);
      }
    }
  }

  bool complete() const {
    return std::find(sweep_.answered.begin(), sweep_.answered.end(), false) ==
           sweep_.answered.end();
  }

  /** Nothing when the port itself was not seen; a block that did not answer stays as known. */
  std::optional<PortState> finishSweep() {
    sweep_.running = false;
    if (!sweep_.gotPortInfo) return std::nullopt;
    return std::move(sweep_.found);
  }

  const std::shared_ptr<const rdma::UmadLibrary> library_;
  std::unique_ptr<PortClaim> claim_;
  const std::string device_;
  const uint8_t number_;
  const int port_;
  const Duration pollInterval_;
  PortState state_;
  uint32_t nextTid_;  // of SMPs; unpredictable at start, so that stray answers do not match
  std::vector<uint8_t> buffer_;  // one message to be sent: header and MAD
  int saAgent_ = -1;
  int smiAgent_ = -1;
  int reportAgent_ = -1;
  bool reporting_ = false;
  bool watching_ = false;
  bool stopped_ = false;
  bool removed_ = false;
  bool looksBySmp_ = false;
  std::optional<Instant> nextLook_;
  Sweep sweep_;
  std::unique_ptr<rdma::PortEventSource> events_;
  Receiver receiver_;
};

Opened refused(int status, std::string message) { return {nullptr, status, std::move(message)}; }

Environment systemEnvironment(std::string& why) {
  Environment environment;
  environment.library = rdma::umadLibrary(why);
  environment.events = rdma::openVerbsEvents;
  return environment;
}

constexpr const char* kCannotStart =
    "libibumad cannot start: load the kernel module ib_umad (modprobe ib_umad)";

}  // namespace

Discovery discover() {
  std::string why;
  const auto library = rdma::umadLibrary(why);
  if (library == nullptr) {
    if (const int status = descriptorShortage()) return {{}, status, shortageMessage(status)};
    return {{}, kENOENT, libraryMissing(why)};
  }
  return discover(*library);
}

Discovery discover(const rdma::UmadLibrary& library) {
  std::vector<PortInfo> ports;
  const bool started = library.init() >= 0;
  if (started) ports = listPorts(library);
  if (ports.empty()) {
    if (const int status = descriptorShortage()) return {{}, status, shortageMessage(status)};
  }
  if (!started) return {{}, kENODEV, kCannotStart};
  return {std::move(ports), kOk, {}};
}

Opened open(const std::string& device, uint8_t port, const OpenOptions& options) {
  std::string why;
  const Environment environment = systemEnvironment(why);
  if (environment.library == nullptr) {
    if (const int status = descriptorShortage()) return refused(status, shortageMessage(status));
    return refused(kENOENT, libraryMissing(why));
  }
  return open(environment, device, port, options);
}

Opened open(const Environment& environment, const std::string& device, uint8_t port,
            const OpenOptions& options) {
  const auto& library = environment.library;
  const Discovery discovery = discover(*library);
  if (discovery.status != kOk) return refused(discovery.status, discovery.message);
  if (auto reason = refusal(discovery.ports, device, port)) {
    return refused(reason->status, std::move(reason->message));
  }
  auto claim = PortClaim::take(device, port);
  if (claim == nullptr) {
    return refused(kEBUSY, "port " + std::to_string(port) + " of " + device +
                               " is already open in this process, through another copy of "
                               "rx-ib-multicast: let both use one copy");
  }
  errno = 0;
  const int opened = library->openPort(device.c_str(), port);
  if (opened < 0) {
    const int error = opened == -EIO && errno != 0 ? errno : -opened;
    Failure failure = openFailure(device, port, error);
    return refused(failure.status, std::move(failure.message));
  }
  const auto known = std::find_if(
      discovery.ports.begin(), discovery.ports.end(),
      [&](const PortInfo& info) { return info.device == device && info.port == port; });
  auto transport = std::make_unique<UmadTransport>(library, std::move(claim), device, port, opened,
                                                   known->state, options.pollInterval);
  std::unique_ptr<rdma::PortEventSource> events;
  if (environment.events) events = environment.events(device, port);
  if (!transport->setUp(std::move(events))) {
    return refused(kEIO, "the kernel refuses SA requests on port " + std::to_string(port) + " of " +
                             device + ": no agent for management class 3 could be registered");
  }
  return {std::move(transport), kOk, {}};
}

}  // namespace rxib::umad
