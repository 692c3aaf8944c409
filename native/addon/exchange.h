// How completions and requests cross between C++ and JavaScript: as numbers in one Float64Array,
// decoded and encoded on the other side by src/binding/exchange.ts. A number holds 53 bits, so GIDs
// travel as four 32-bit words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/mc_member_record.h"
#include "core/completion.h"
#include "core/engine.h"

namespace rxib::addon {

// Slots of a record.
constexpr size_t kRecordSlots = 28;
// Slots of a completion: handle, status, SA status (-1: none), fields, reason, whether there is a
// record, whether there is a cause, cause, whether there is an address handle, its port, its SGID
// index, its static rate in Gb/s; then the record.
constexpr size_t kCompletionHead = 12;
constexpr size_t kCompletionSlots = kCompletionHead + kRecordSlots;
// Completions that one call hands to JavaScript at most.
constexpr size_t kBatch = 16;
// Slots of a request: component mask; the record; the IP group as a GID, or zeros.
constexpr size_t kRequestSlots = 1 + kRecordSlots + 4;

void writeRecord(const McMemberRecord& record, double* slots);
McMemberRecord readRecord(const double* slots);
void writeCompletion(const Completion& completion, double* slots);
JoinSpec readRequest(const double* slots);

}  // namespace rxib::addon
