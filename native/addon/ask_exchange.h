// How questions to the subnet administrator cross from JavaScript, and the records of answers back.
#pragma once

#include <napi.h>

#include <vector>

#include "addon/record_codec.h"
#include "core/ask.h"
#include "core/completion.h"

namespace rxib::addon {

// Slots of an SA request: method (0: there is none), attribute, SM_Key (two words), bytes of a
// record in its answer, component mask; then the record, as its codec has it.
constexpr size_t kSaRequestHead = 6;
constexpr size_t kSaRequestSlots = kSaRequestHead + kServiceSlots;
// What is to be made, what takes it back, and what asks for it.
constexpr size_t kAskSlots = 3 * kSaRequestSlots;

AskSpec readAsk(const double* slots, Duration lease);

/** The bytes of all tables, one behind the other; undefined when there are none. */
Napi::Value tableBytes(Napi::Env env, const std::vector<Completion>& completions);

}  // namespace rxib::addon
