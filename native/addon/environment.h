// What the addon keeps for one JavaScript environment: the main thread's, or a worker's.
#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "addon/fabric_host.h"
#include "addon/open_port.h"
#include "addon/outbox.h"

namespace rxib::addon {

/** All of it runs on the environment's own thread. */
class Environment {
 public:
  explicit Environment(Napi::Env env);
  ~Environment();

  // The addon's functions; src/binding/addon.ts describes them.
  Napi::Value attach(const Napi::CallbackInfo& info);
  Napi::Value openPort(const Napi::CallbackInfo& info);
  Napi::Value leaveStale(const Napi::CallbackInfo& info);
  Napi::Value closePort(const Napi::CallbackInfo& info);
  Napi::Value join(const Napi::CallbackInfo& info);
  Napi::Value ask(const Napi::CallbackInfo& info);
  Napi::Value memberRecord(const Napi::CallbackInfo& info);
  Napi::Value free(const Napi::CallbackInfo& info);
  Napi::Value flush(const Napi::CallbackInfo& info);
  Napi::Value resume(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  Napi::Value portState(const Napi::CallbackInfo& info);
  Napi::Value unsettled(const Napi::CallbackInfo& info);
  Napi::Value hold(const Napi::CallbackInfo& info);
  Napi::Value drain(const Napi::CallbackInfo& info);
  Napi::Value discover(const Napi::CallbackInfo& info);
  Napi::Value fabric(const Napi::CallbackInfo& info);
  Napi::Value codec(const Napi::CallbackInfo& info);

  /** Hands over what the outbox holds; called by the loop when the outbox has woken it. */
  void serve(Napi::Env env);

 private:
  struct Opened {
    // The host goes after the port that runs on its clock.
    std::shared_ptr<FabricHost> host;
    std::shared_ptr<OpenPort> port;
    std::shared_ptr<PortSink> sink;
  };

  Opened& opened(const Napi::CallbackInfo& info);
  void flushPorts();
  void deliver(Napi::Env env, bool everything);
  bool leaveAll(Duration limit, bool wholeProcess);
  void tick(Napi::Env env, FabricHost& host, Duration by);

  std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  // They keep the memory behind the pointers where it is.
  Napi::Reference<Napi::Float64Array> arrays_[3];
  double* incoming_ = nullptr;
  double* outgoing_ = nullptr;
  double* questions_ = nullptr;
  Napi::FunctionReference dispatch_;
  Napi::FunctionReference note_;
  bool delivering_ = false;
  bool ended_ = false;
  Duration exitDrain_{0};  // the longest that any port asked for
  uint32_t lastPort_ = 0;
  uint32_t lastFabric_ = 0;
  std::unordered_map<uint32_t, std::shared_ptr<FabricHost>> fabrics_;
  std::unordered_map<uint32_t, Opened> ports_;
  std::vector<Completion> batch_;
};

}  // namespace rxib::addon
