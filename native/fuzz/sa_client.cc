// The whole SA client against an adversary: joins, questions, services, subscriptions and frees,
// time, neighbours on the port, answers of a correct subnet administrator that are lost, late,
// repeated or out of order, forged and mutilated answers, notices, and everything that can happen
// to a port, in any order. The invariants are checked at every step.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "codec/inform_info.h"
#include "codec/path_record.h"
#include "codec/service_record.h"
#include "sa/model_sa.h"
#include "sa/port.h"
#include "sa/world.h"
#include "script_bytes.h"

using namespace rxib;
using namespace rxib::test;

namespace {

constexpr int kWindow = 3;
constexpr size_t kGroups = 4;

/** Half of the groups are IP over InfiniBand's, of which the probe is fond. */
Gid groupId(size_t n) {
  Gid gid = mgid(static_cast<uint8_t>(n));
  if (n % 2 == 0) gid.bytes[2] = 0x40;
  return gid;
}

/** What stands at the SA beside memberships: services and subscriptions. */
class Notebook {
 public:
  /** Executes `sent`; `records` is how many a table has. */
  codec::SaMad execute(const SentMad& sent, size_t records) {
    codec::SaMad reply = sent.mad;
    reply.status = codec::kSaOk;
    reply.method = static_cast<uint8_t>(SaMethod::kGetResp);
    if (sent.method() == SaMethod::kGetTable) {
      reply.method = static_cast<uint8_t>(SaMethod::kGetTableResp);
      reply.attributeOffset = records == 0 ? 0 : sizeOf(sent.mad.attributeId) / 8;
      if (records == 0) reply.status = codec::kSaNoRecords;
      return reply;
    }
    bool found = true;
    if (sent.mad.attributeId == static_cast<uint16_t>(codec::SaAttribute::kInformInfo)) {
      InformInfo info;
      codec::unpackInformInfo(sent.mad.data.data(), sent.mad.data.size(), info);
      const std::pair<uint16_t, uint64_t> key{sent.mad.attributeId, info.trapNumber};
      if (info.subscribe) {
        standing.insert(key);
      } else {
        found = standing.erase(key) != 0;
      }
    } else if (sent.mad.attributeId == static_cast<uint16_t>(codec::SaAttribute::kServiceRecord)) {
      ServiceRecord record;
      codec::unpackServiceRecord(sent.mad.data.data(), sent.mad.data.size(), record);
      const std::pair<uint16_t, uint64_t> key{sent.mad.attributeId, record.serviceId};
      if (sent.method() == SaMethod::kSet) standing.insert(key);
      if (sent.method() == SaMethod::kGet) found = standing.count(key) != 0;
      if (sent.method() == SaMethod::kDelete) {
        reply.method = static_cast<uint8_t>(SaMethod::kDeleteResp);
        found = standing.erase(key) != 0;
      }
    }
    if (!found) reply.status = codec::kSaNoRecords;
    return reply;
  }

  static uint16_t sizeOf(uint16_t attribute) {
    return attribute == static_cast<uint16_t>(codec::SaAttribute::kPathRecord)
               ? uint16_t{kPathRecordSize}
               : uint16_t{kServiceRecordSize};
  }

  std::set<std::pair<uint16_t, uint64_t>> standing;
};

class Adversary final : public CompletionSink {
 public:
  explicit Adversary(fuzz::ScriptBytes script) : script_(script) {
    options_.maxOutstanding = kWindow;
    options_.seed = script_.byte();
    options_.auditInterval = script_.coin() ? ms(700) : Duration{0};
    const uint8_t kind = script_.byte();
    options_.probe = kind % 4 == 0   ? sa::Probe::kNever
                     : kind % 4 == 1 ? sa::Probe::kIpoib
                                     : sa::Probe::kAlways;
    for (size_t n = 1; n <= kGroups; ++n) {
      // Before anything of ours, and for as long as it lasts.
      if ((kind & (8u << n)) == 0) continue;
      const auto bits = static_cast<uint8_t>(1 + script_.below(15));
      neighbours_[groupId(n)] = joinSpec(groupId(n), bits).record;
    }
    forgetAll();
    auto transport = std::make_unique<ScriptedTransport>();
    transport_ = transport.get();
    transport_->keep = false;
    transport_->script = [this](const SentMad& mad) { return sent(mad); };
    port_ = std::make_unique<sa::Port>(std::move(transport), options_);
    port_->start(slot_);
    driver_.add(slot_, *port_);
    port_->attach(self_);
  }

  void play() {
    for (int i = 0; i < 400 && !script_.empty(); ++i) {
      step();
      driver_.advance(Duration{0});
      check();
    }
    end();
  }

  void complete(Completion completion) override {
    // A completion for a handle that was freed finds no entry.
    auto found = handles_.find(completion.handle);
    CHECK(found != handles_.end());
    Handle& handle = found->second;
    CHECK(!handle.over);
    if (handle.asks) {
      completeAsk(handle, completion);
      return;
    }
    if (completion.status == kOk) {
      CHECK(!handle.joined);
      CHECK(completion.record.has_value());
      CHECK_EQ(completion.record->joinState, handle.bits);
      CHECK(handle.asked.isZero() ? !completion.record->mgid.isZero()
                                  : completion.record->mgid == handle.asked);
      handle.joined = true;
      handle.mgid = completion.record->mgid;
    } else {
      CHECK_EQ(completion.status == kENETRESET, handle.joined);
      handle.joined = false;
      handle.over = true;
    }
  }
  void diagnose(const Diagnostic&) override { ++notes_; }
  void settled() override { CHECK(!port_->unsettled()); }

 private:
  struct Handle {
    Gid asked;
    Gid mgid;
    uint8_t bits = 0;
    bool joined = false;  // or standing
    bool over = false;
    bool lost = false;   // a subscription that has stood before
    bool own = true;     // of this port
    bool asks = false;   // something else than a membership
    bool stays = false;  // until it is freed
    uint16_t trap = 0;
    std::pair<uint16_t, uint64_t> thing;
  };
  struct Answer {
    SentMad to;
    codec::SaMad mad;
    size_t records = 0;  // of a table
  };

  void completeAsk(Handle& handle, const Completion& completion) {
    const RecordTable* table = completion.table.get();
    if (table != nullptr && table->count > 0) {
      CHECK(table->bytes.size() >= (table->count - 1) * table->stride);
    }
    if (table != nullptr && table->notice) {
      Notice notice;
      CHECK(codec::unpackNotice(table->bytes.data(), table->bytes.size(), notice));
      CHECK(handle.joined && completion.status == kOk && handle.trap != 0);
      CHECK_EQ(notice.trapNumber, handle.trap);
    } else if (completion.status == kOk) {
      CHECK(!handle.joined);
      handle.joined = handle.stays;
      handle.over = !handle.stays;
    } else if (handle.trap != 0 && completion.status == kENETRESET) {
      // Told of once, and made anew, unless there is nothing left to make it with.
      handle.over = completion.reason == ResetReason::kDeviceRemoved;
      CHECK(handle.joined || (handle.over && handle.lost));
      handle.joined = false;
      handle.lost = true;
    } else {
      CHECK_EQ(completion.status == kENETRESET, handle.joined);
      handle.joined = false;
      handle.over = true;
    }
  }

  /** The subnet administrator loses its memory; whoever else is on the port joins again at once. */
  void forgetAll() {
    sa_ = ModelSa{};
    notebook_ = Notebook{};
    for (const auto& [group, record] : neighbours_) sa_.join(record);
  }

  int sent(const SentMad& mad) {
    CHECK(port_->stats().outstanding <= static_cast<uint64_t>(kWindow));
    CHECK(transport_->state.active() && transport_->state.smLid != 0);
    CHECK(!removed_);
    CHECK_EQ(mad.lid, transport_->state.smLid);
    if (mad.mad.method == static_cast<uint8_t>(SaMethod::kReportResp)) return kOk;
    if (obliging_) {
      transport_->deliver(arriving(executed(mad)), driver_.now() + ms(1));
      return kOk;
    }
    if (unsent_ > 0) {
      --unsent_;
      return kEIO;
    }
    Answer answer{mad, {}};
    if (lost_ > 0) {
      // What was lost on its way can still be answered by somebody else: forged, below.
      --lost_;
      answer.mad = refusal(mad, codec::kSaNoResources);
      forgeable_.push_back(std::move(answer));
      return kOk;
    }
    if (busy_ > 0) {
      --busy_;
      answer.mad = refusal(mad, codec::kSaBusy);
    } else if (refused_ > 0 && mad.method() != SaMethod::kDelete) {
      --refused_;
      answer.mad = refusal(mad, refusal_);
    } else {
      answer = executed(mad);
      if (mad.record.mgid.isZero()) assigned_ = true;
    }
    if (prompt_) {
      transport_->deliver(arriving(answer), driver_.now() + ms(1));
      return kOk;
    }
    answers_.push_back(answer);
    forgeable_.push_back(std::move(answer));
    if (answers_.size() > 32) answers_.pop_front();
    if (forgeable_.size() > 32) forgeable_.pop_front();
    return kOk;
  }

  static bool ofGroups(const SentMad& sent) {
    return sent.mad.attributeId == static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord);
  }

  Answer executed(const SentMad& sent) {
    if (ofGroups(sent)) return {sent, sa_.execute(sent), 0};
    // More than one MAD holds, at times.
    const size_t records = sent.method() == SaMethod::kGetTable ? script_.below(6) : 0;
    return {sent, notebook_.execute(sent, records), records};
  }

  static codec::SaMad refusal(const SentMad& sent, uint16_t status) {
    codec::SaMad reply = responseTo(sent, status, sent.record);
    if (sent.method() == SaMethod::kGetTable) {
      reply.method = static_cast<uint8_t>(SaMethod::kGetTableResp);
    }
    return reply;
  }

  static ReceivedMad arriving(const Answer& answer) {
    ReceivedMad mad = received(answer.mad, answer.to.lid);
    if (answer.records > 0) {
      mad.bytes.resize(codec::kSaHeaderSize +
                       answer.records * Notebook::sizeOf(answer.mad.attributeId));
    }
    return mad;
  }

  void step() {
    const uint8_t what = script_.byte();
    switch (what % 16) {
      case 0:
        join(what >> 4);
        break;
      case 1:
        ask(what >> 4);
        break;
      case 2:
        if (!handles_.empty()) {
          auto chosen = handles_.begin();
          std::advance(chosen, static_cast<long>(script_.below(handles_.size())));
          free(chosen->first);
        }
        break;
      case 3:
        driver_.advance(ms(what >> 4) * 100);
        break;
      case 4:
        driver_.advance(ms(what >> 4) * 5000);
        break;
      case 5:
      case 6:
      case 7:
        deliver(what >> 4);
        break;
      case 8:
        forge(what >> 4);
        break;
      case 9: {
        ReceivedMad mad;
        mad.bytes = script_.bytes(what >> 4 == 15 ? 256 : script_.byte());
        mad.sourceLid = script_.coin() ? transport_->state.smLid : script_.word();
        transport_->deliver(mad);
        break;
      }
      case 10:
        portEvent(what >> 4);
        break;
      case 11:
        (what & 16 ? lost_ : unsent_) = what >> 5;
        break;
      case 12:
        if (what & 16) {
          busy_ = what >> 5;
        } else {
          refused_ = what >> 5;
          refusal_ = script_.coin() ? uint16_t{codec::kSaReqInvalid} : script_.word();
          // A status that says success or try again would be no refusal.
          if (refusal_ == codec::kSaOk || refusal_ == codec::kSaBusy) refusal_ = 0x0600;
        }
        break;
      case 13:
        prompt_ = (what & 16) != 0;
        break;
      case 14:
        if (what & 16) {
          // The last user goes, and all its handles with it; then it comes back.
          driver_.advance(Duration{0});
          handles_.clear();
          port_->detach(self_);
          driver_.advance(Duration{0});
          port_->attach(self_);
        } else {
          forgetAll();  // the SM restarts, and nobody is told
          restarted_ = true;
        }
        break;
      default:
        if (what & 16) {
          // Handles that never were, or are no more. Port counts them down again.
          port_->free(1000 + what);
        } else if (transport_->state.active()) {
          report(what >> 5);
        }
        break;
    }
  }

  void join(int choice) {
    constexpr uint8_t kBits[] = {1, 4, 5, 2, 8, 1, 1, 0};
    if (handles_.size() >= 24) return;
    sa::JoinSpec spec =
        joinSpec(groupId(1 + static_cast<size_t>(choice) % kGroups), kBits[choice & 7]);
    const uint8_t variety = script_.byte();
    if (variety % 8 == 1) spec.record.mgid = Gid{};
    if (variety % 8 == 2) spec.record.qkey = 0x2c;
    if (variety % 8 == 3) spec.mask = kJoinMask;
    if (variety % 8 == 4) spec.record.pkey = 0x8001;
    if (variety % 8 == 5) spec.record.portGid = transport_->state.gid;
    if (variety % 8 == 6) spec.record.portGid.bytes = {0xfe, 0x80, 9};
    if (!spec.record.portGid.isZero() && spec.record.portGid != transport_->state.gid) {
      foreignPort_ = true;
    }
    Handle handle;
    handle.own = spec.record.portGid.isZero() || spec.record.portGid == transport_->state.gid;
    handle.asked = spec.record.mgid;
    handle.bits = spec.bits();
    if (handle.bits == 0) noBits_ = true;
    handles_[++lastHandle_] = handle;
    port_->join(lastHandle_, spec, this);
    if (variety >= 0xf0) {
      // Freed before the join is carried out, which may still be answered at once.
      port_->free(lastHandle_);
      driver_.advance(Duration{0});
      handles_.erase(lastHandle_);
    }
  }

  /** A question, a service with a lease or without, or a subscription. */
  void ask(int choice) {
    if (handles_.size() >= 24) return;
    const uint64_t which = 1 + static_cast<uint64_t>(choice >> 2 & 1);
    Handle handle;
    handle.asks = true;
    AskSpec spec;
    switch (choice & 3) {
      case 0:
        spec.make = request(SaMethod::kGetTable, choice & 8 ? codec::SaAttribute::kServiceRecord
                                                            : codec::SaAttribute::kPathRecord);
        break;
      case 1:
      case 2:
        spec.make = serviceRequest(SaMethod::kSet, which);
        spec.undo = serviceRequest(SaMethod::kDelete, which);
        spec.probe = serviceRequest(SaMethod::kGet, which);
        if (choice & 8) spec.lease = std::chrono::seconds{20};
        handle.thing = {spec.make->attribute, which};
        break;
      default:
        handle.trap = static_cast<uint16_t>(kTrapGroupCreated + which - 1);
        spec.make = subscriptionRequest(handle.trap, true);
        spec.undo = subscriptionRequest(handle.trap, false);
        spec.trap = handle.trap;
        handle.thing = {spec.make->attribute, handle.trap};
        break;
    }
    handle.stays = spec.undo != nullptr;
    handles_[++lastHandle_] = handle;
    port_->ask(lastHandle_, spec, this);
  }

  static std::shared_ptr<SaRequest> request(SaMethod method, codec::SaAttribute attribute) {
    auto made = std::make_shared<SaRequest>();
    made->method = method;
    made->attribute = static_cast<uint16_t>(attribute);
    made->recordSize = Notebook::sizeOf(made->attribute);
    return made;
  }

  static std::shared_ptr<SaRequest> serviceRequest(SaMethod method, uint64_t id) {
    auto made = request(method, codec::SaAttribute::kServiceRecord);
    ServiceRecord record;
    record.serviceId = id;
    codec::packServiceRecord(record, made->data.data());
    return made;
  }

  static std::shared_ptr<SaRequest> subscriptionRequest(uint16_t trap, bool subscribe) {
    auto made = request(SaMethod::kSet, codec::SaAttribute::kInformInfo);
    made->recordSize = kInformInfoSize;
    InformInfo info;
    info.trapNumber = trap;
    info.subscribe = subscribe;
    codec::packInformInfo(info, made->data.data());
    return made;
  }

  /** A notice, from the subnet manager or from somebody else. */
  void report(int choice) {
    Notice notice;
    notice.trapNumber = static_cast<uint16_t>(kTrapGroupCreated + choice % 3);
    codec::setNoticeGid(notice, groupId(1));
    codec::SaMad mad;
    mad.method = static_cast<uint8_t>(SaMethod::kReport);
    mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kNotice);
    mad.transactionId = script_.byte();
    codec::packNotice(notice, mad.data.data());
    const bool stranger = choice > 5;
    transport_->deliver(
        received(mad, static_cast<uint16_t>(transport_->state.smLid + (stranger ? 1 : 0))));
  }

  void free(HandleId id) {
    driver_.advance(Duration{0});
    handles_.erase(id);
    port_->free(id);
  }

  /** One of the answers that are on their way, in any order, once, twice or never. */
  void deliver(int choice) {
    if (answers_.empty()) return;
    const size_t index = static_cast<size_t>(choice) % answers_.size();
    transport_->deliver(arriving(answers_[index]));
    if (choice < 12) answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  /** An answer that no correct subnet administrator gave, or not to this question. */
  void forge(int choice) {
    if (forgeable_.empty()) return;
    Answer answer = forgeable_[script_.below(forgeable_.size())];
    uint16_t lid = answer.to.lid;
    if (choice & 1) {
      answer.mad.status = static_cast<uint16_t>(script_.byte() << 8);
      forged_ = true;
    }
    if (choice & 2) {
      const size_t at = script_.byte() % codec::kSaDataSize;
      answer.mad.data[at] ^= script_.byte();
      forged_ = true;
    }
    ReceivedMad mad;
    if (choice & 4) {
      // A wrong header must never be believed, so it does not count as forged.
      switch (script_.below(4)) {
        case 0:
          ++lid;
          break;
        case 1:
          answer.mad.method = static_cast<uint8_t>(answer.mad.method ^ 0x14);
          break;
        case 2:
          answer.mad.attributeId ^= 0x10;
          break;
        default:
          answer.mad.classVersion = 1;
          break;
      }
    } else {
      forged_ = true;
    }
    mad = arriving(answer);
    mad.sourceLid = lid;
    if (choice & 8) mad.bytes.resize(script_.byte());
    transport_->deliver(mad);
  }

  void portEvent(int which) {
    if (removed_) return;
    switch (which % 8) {
      case 0:
        transport_->raise(ResetReason::kPortError,
                          [](PortState& port) { port.phase = PortPhase::kDown; });
        break;
      case 1:
      case 2:
        transport_->raise(ResetReason::kNone,
                          [](PortState& port) { port.phase = PortPhase::kActive; });
        break;
      case 3:
        transport_->raise(ResetReason::kLidChange, [](PortState& port) { port.lid ^= 64; });
        break;
      case 4:
        restarted_ = true;
        transport_->raise(ResetReason::kSmChange, [this](PortState& port) {
          ++port.smLid;
          forgetAll();
        });
        break;
      case 5: {
        PortEvent event;
        event.reason = ResetReason::kPkeyChange;
        event.pkeysBefore = transport_->state.pkeys;
        transport_->raise(event, [](PortState& port) { std::swap(port.pkeys[0], port.pkeys[1]); });
        break;
      }
      case 6:
        transport_->raise(ResetReason::kClientReregister);
        break;
      default:
        if (script_.byte() != 0xff) break;
        removed_ = true;
        transport_->raise(ResetReason::kDeviceRemoved,
                          [](PortState& port) { port.phase = PortPhase::kDown; });
        break;
    }
  }

  void check() {
    const PortStats stats = port_->stats();
    CHECK(stats.outstanding <= static_cast<uint64_t>(kWindow));
    CHECK_EQ(stats.handlesAlive.get(), handles_.size());
    CHECK_EQ(stats.joinsStarted.get(), lastHandle_);
    CHECK_EQ(stats.joinsStarted - stats.handlesFreed, stats.handlesAlive.get());
    // Every group has a handle, or something that may stand at the SA: one for a request at most,
    // since each Set that asks for an MGID may have been given another one.
    CHECK(stats.groups <= handles_.size() + stats.saRequests + stats.sendFailures);
    if (!forged_ && !foreignPort_) checkNeighbours();
    for (const auto& [id, handle] : handles_) {
      if (!handle.joined || handle.asks || !handle.own || handle.bits == 0) continue;
      CHECK(port_->memberRecord(handle.mgid));
    }
    if (forged_ || restarted_ || foreignPort_ || removed_) return;
    for (const auto& [id, handle] : handles_) {
      if (handle.asks && handle.joined) CHECK(notebook_.standing.count(handle.thing) != 0);
      if (handle.asks || !handle.joined || handle.mgid.bytes[1] == 0x15) continue;
      // Whoever believes to be a member is one.
      auto found = sa_.members.find(handle.mgid);
      CHECK(found != sa_.members.end());
      CHECK_EQ(found->second.bits & handle.bits, handle.bits);
    }
  }

  /** Whoever was a member before a join that asked for it still is. */
  void checkNeighbours() {
    for (const auto& [group, record] : neighbours_) {
      if (options_.probe == sa::Probe::kNever) continue;
      if (options_.probe == sa::Probe::kIpoib && group.bytes[2] != 0x40) continue;
      auto found = sa_.members.find(group);
      CHECK(found != sa_.members.end());
      CHECK_EQ(found->second.bits & record.joinState, record.joinState);
    }
  }

  /** The weather clears up, everything is freed, and nothing may be left anywhere. */
  void end() {
    while (!handles_.empty()) free(handles_.begin()->first);
    obliging_ = true;
    if (!removed_) {
      transport_->raise(ResetReason::kNone,
                        [](PortState& port) { port.phase = PortPhase::kActive; });
    }
    driver_.advance(std::chrono::minutes{5});
    const PortStats stats = port_->stats();
    CHECK_EQ(stats.handlesAlive.get(), 0u);
    CHECK_EQ(stats.handlesFreed.get(), lastHandle_);
    CHECK_EQ(stats.outstanding.get(), 0u);
    CHECK_EQ(stats.groups.get(), 0u);
    CHECK_EQ(stats.borrowed.get(), 0u);
    CHECK(!port_->unsettled());
    if (forged_ || foreignPort_ || noBits_ || removed_ || refusal_ != 0) return;
    checkNeighbours();
    // What was given up stays.
    if (stats.leavesFailed.get() == 0) CHECK(notebook_.standing.empty());
    for (const auto& [mgid, membership] : sa_.members) {
      auto neighbour = neighbours_.find(mgid);
      if (neighbour != neighbours_.end()) {
        CHECK_EQ(membership.bits & ~neighbour->second.joinState, 0);
        continue;
      }
      // An MGID that was assigned in an answer which never came can't be left.
      CHECK(mgid.bytes[1] == 0x15);
      CHECK(assigned_);
    }
  }

  fuzz::ScriptBytes script_;
  const std::shared_ptr<CompletionSink> self_{this, [](CompletionSink*) {}};
  sa::Options options_ = quietOptions();
  ManualDriver driver_;
  ManualDriver::Slot slot_;
  ScriptedTransport* transport_ = nullptr;
  std::unique_ptr<sa::Port> port_;
  ModelSa sa_;
  Notebook notebook_;
  std::map<Gid, McMemberRecord> neighbours_;
  std::map<HandleId, Handle> handles_;
  std::deque<Answer> answers_;
  std::deque<Answer> forgeable_;
  HandleId lastHandle_ = 0;
  uint64_t notes_ = 0;
  int unsent_ = 0;
  int lost_ = 0;
  int busy_ = 0;
  int refused_ = 0;
  uint16_t refusal_ = 0;
  bool prompt_ = true;
  bool obliging_ = false;
  // What weakens the promises that can be checked at the end.
  bool forged_ = false;
  bool restarted_ = false;
  bool foreignPort_ = false;
  bool noBits_ = false;
  bool assigned_ = false;
  bool removed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Adversary(fuzz::ScriptBytes(data, size)).play();
  return 0;
}
