// The controls and the inspection of an embedded fabric, by name.
#pragma once

#include <napi.h>

#include "embedded/fabric.h"

namespace rxib::addon {

embedded::FabricOptions readFabricOptions(const Napi::Object& options);

/** Arguments start at `info[2]`. Throws a JavaScript TypeError for an unknown verb. */
Napi::Value controlFabric(const Napi::CallbackInfo& info, embedded::Fabric& fabric,
                          const std::string& verb);

}  // namespace rxib::addon
