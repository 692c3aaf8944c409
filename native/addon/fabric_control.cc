#include "addon/fabric_control.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "addon/values.h"

namespace rxib::addon {
namespace {

using embedded::Fabric;

/** The numbers behind a verb. A missing one is NaN at the caller's, and 0 here. */
class Arguments {
 public:
  explicit Arguments(const Napi::CallbackInfo& info) : info_(info) {}

  double number(size_t index) const {
    Napi::Value value = info_[index + 2];
    return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : 0;
  }
  template <typename T>
  T as(size_t index) const {
    return static_cast<T>(number(index));
  }
  uint32_t count(size_t index) const {
    double value = number(index);
    return value >= embedded::kForever ? embedded::kForever : static_cast<uint32_t>(value);
  }
  Gid gid(size_t index) const {
    Gid gid;
    for (size_t i = 0; i < 4; ++i)
      codec::write32(gid.bytes.data() + 4 * i, as<uint32_t>(index + i));
    return gid;
  }
  std::vector<uint16_t> table(size_t index) const {
    std::vector<uint16_t> table;
    for (size_t i = index; i + 2 < info_.Length(); ++i) table.push_back(as<uint16_t>(i));
    return table;
  }

 private:
  const Napi::CallbackInfo& info_;
};

using Control = std::function<void(Fabric&, const Arguments&)>;

const std::unordered_map<std::string, Control>& controls() {
  static const std::unordered_map<std::string, Control> table{
      {"loss", [](Fabric& f, const Arguments& a) { f.setLoss(a.number(0), a.number(1)); }},
      {"delay", [](Fabric& f, const Arguments& a) { f.setDelay(milliseconds(a.number(0))); }},
      {"dropNext", [](Fabric& f, const Arguments& a) { f.dropNext(a.count(0), a.as<uint8_t>(1)); }},
      {"replyLost",
       [](Fabric& f, const Arguments& a) { f.setReplyLost(a.count(0), a.as<uint8_t>(1)); }},
      {"duplication", [](Fabric& f, const Arguments& a) { f.setDuplication(a.number(0)); }},
      {"reordering",
       [](Fabric& f, const Arguments& a) {
         f.setReordering(a.number(0), milliseconds(a.number(1)));
       }},
      {"forcedStatus",
       [](Fabric& f, const Arguments& a) {
         f.setForcedStatus(a.as<uint16_t>(0), a.count(1), a.as<uint8_t>(2));
       }},
      {"serviceRate", [](Fabric& f, const Arguments& a) { f.setServiceRate(a.number(0)); }},
      {"silence", [](Fabric& f, const Arguments&) { f.silence(); }},
      {"resume", [](Fabric& f, const Arguments&) { f.resume(); }},
      {"killSm", [](Fabric& f, const Arguments&) { f.killSm(); }},
      {"startSm", [](Fabric& f, const Arguments&) { f.startSm(); }},
      {"restartSm", [](Fabric& f, const Arguments& a) { f.restartSm(a.number(0) != 0); }},
      {"takeover", [](Fabric& f, const Arguments& a) { f.takeover(a.as<uint16_t>(0)); }},
      {"portDown", [](Fabric& f, const Arguments& a) { f.portDown(a.as<int>(0)); }},
      {"portUp", [](Fabric& f, const Arguments& a) { f.portUp(a.as<int>(0)); }},
      {"changeLid",
       [](Fabric& f, const Arguments& a) { f.changeLid(a.as<int>(0), a.as<uint16_t>(1)); }},
      {"changeGid", [](Fabric& f, const Arguments& a) { f.changeGid(a.as<int>(0), a.gid(1)); }},
      {"setPkeys", [](Fabric& f, const Arguments& a) { f.setPkeys(a.as<int>(0), a.table(1)); }},
      {"clientReregister", [](Fabric& f, const Arguments& a) { f.clientReregister(a.as<int>(0)); }},
      {"removeDevice", [](Fabric& f, const Arguments& a) { f.removeDevice(a.as<int>(0)); }},
  };
  return table;
}

Napi::Value members(Napi::Env env, const Fabric& fabric) {
  Napi::Array list = Napi::Array::New(env);
  uint32_t count = 0;
  for (const embedded::Member& member : fabric.members()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("mgidWords", gidWords(env, member.mgid));
    entry.Set("portGidWords", gidWords(env, member.portGid));
    entry.Set("mlid", Napi::Number::New(env, member.mlid));
    entry.Set("joinState", Napi::Number::New(env, member.joinState));
    list.Set(count++, entry);
  }
  return list;
}

Napi::Value counters(Napi::Env env, const Fabric& fabric) {
  const embedded::FabricCounters c = fabric.counters();
  Napi::Object out = Napi::Object::New(env);
  auto set = [&](const char* name, uint64_t value) {
    out.Set(name, Napi::Number::New(env, static_cast<double>(value)));
  };
  set("gets", c.gets);
  set("sets", c.sets);
  set("getTables", c.getTables);
  set("deletes", c.deletes);
  set("others", c.others);
  set("replies", c.replies);
  set("requestsDropped", c.requestsDropped);
  set("requestsRefused", c.requestsRefused);
  set("repliesDropped", c.repliesDropped);
  set("duplicates", c.duplicates);
  set("queued", c.queued);
  set("inFlight", c.inFlight);
  set("outstanding", c.outstanding);
  set("outstandingPeak", c.outstandingPeak);
  set("groups", c.groups);
  set("members", c.members);
  set("freeMlids", c.freeMlids);
  return out;
}

}  // namespace

embedded::FabricOptions readFabricOptions(const Napi::Object& options) {
  embedded::FabricOptions result;
  result.ports = static_cast<int>(numberOr(options, "ports", result.ports));
  result.mlidPool = static_cast<uint32_t>(numberOr(options, "mlidPool", result.mlidPool));
  result.groupsPerMlid =
      static_cast<uint32_t>(numberOr(options, "groupsPerMlid", result.groupsPerMlid));
  result.serviceRate = numberOr(options, "serviceRate", result.serviceRate);
  result.seed = static_cast<uint64_t>(numberOr(options, "seed", 1));
  result.delay = milliseconds(numberOr(options, "delayMs", 0));
  result.rmpp = options.Get("rmpp").ToBoolean();
  Napi::Value pkeys = options.Get("pkeys");
  if (pkeys.IsArray()) {
    result.pkeys.clear();
    Napi::Array table = pkeys.As<Napi::Array>();
    for (uint32_t i = 0; i < table.Length(); ++i) {
      result.pkeys.push_back(static_cast<uint16_t>(table.Get(i).As<Napi::Number>().Uint32Value()));
    }
  }
  return result;
}

Napi::Value controlFabric(const Napi::CallbackInfo& info, Fabric& fabric, const std::string& verb) {
  Napi::Env env = info.Env();
  if (verb == "members") return members(env, fabric);
  if (verb == "counters") return counters(env, fabric);
  auto found = controls().find(verb);
  if (found == controls().end()) throw Napi::TypeError::New(env, "no such control: " + verb);
  found->second(fabric, Arguments(info));
  return env.Undefined();
}

}  // namespace rxib::addon
