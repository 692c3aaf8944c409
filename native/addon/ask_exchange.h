// How questions to the subnet administrator and their answers cross between C++ and JavaScript.
#pragma once

#include <napi.h>

#include <vector>

#include "core/ask.h"
#include "core/completion.h"

namespace rxib::addon {

/** `NativeAsk` of src/binding/addon.ts. */
AskSpec readAsk(const Napi::Object& ask);

/** For each completion its `NativeTable`, or undefined; undefined when none has one. */
Napi::Value tablesOf(Napi::Env env, const std::vector<Completion>& completions);

}  // namespace rxib::addon
