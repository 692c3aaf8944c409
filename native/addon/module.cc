// The module as Node loads it: once per JavaScript environment, from one mapping per process.
#include <dlfcn.h>
#include <napi.h>

#include "addon/environment.h"

namespace rxib::addon {
namespace {

/**
 * worker.terminate() unmaps the addon when the last environment that loaded it is gone, while I/O
 * threads may still be inside it. A second, never closed handle keeps it mapped.
 */
void pin() {
  static const bool pinned = [] {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&pin), &self) == 0) return false;
    return dlopen(self.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr;
  }();
  (void)pinned;
}

template <Napi::Value (Environment::*Method)(const Napi::CallbackInfo&)>
Napi::Value call(const Napi::CallbackInfo& info) {
  return (static_cast<Environment*>(info.Data())->*Method)(info);
}

template <Napi::Value (Environment::*Method)(const Napi::CallbackInfo&)>
void add(Napi::Env env, Napi::Object exports, const char* name, Environment* environment) {
  exports.Set(name, Napi::Function::New(env, &call<Method>, name, environment));
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  pin();
  auto* environment = new Environment(env);
  env.AddCleanupHook([environment] { delete environment; });
  add<&Environment::attach>(env, exports, "attach", environment);
  add<&Environment::openPort>(env, exports, "openPort", environment);
  add<&Environment::leaveStale>(env, exports, "leaveStale", environment);
  add<&Environment::closePort>(env, exports, "closePort", environment);
  add<&Environment::join>(env, exports, "join", environment);
  add<&Environment::ask>(env, exports, "ask", environment);
  add<&Environment::memberRecord>(env, exports, "memberRecord", environment);
  add<&Environment::free>(env, exports, "free", environment);
  add<&Environment::flush>(env, exports, "flush", environment);
  add<&Environment::resume>(env, exports, "resume", environment);
  add<&Environment::stats>(env, exports, "stats", environment);
  add<&Environment::portState>(env, exports, "portState", environment);
  add<&Environment::unsettled>(env, exports, "unsettled", environment);
  add<&Environment::hold>(env, exports, "hold", environment);
  add<&Environment::drain>(env, exports, "drain", environment);
  add<&Environment::discover>(env, exports, "discover", environment);
  add<&Environment::fabric>(env, exports, "fabric", environment);
  add<&Environment::codec>(env, exports, "codec", environment);
  return exports;
}

}  // namespace
}  // namespace rxib::addon

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  return rxib::addon::init(env, exports);
}

NODE_API_MODULE(rx_ib_multicast, Init)
