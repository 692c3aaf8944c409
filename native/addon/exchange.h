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
// index, its static rate in Gb/s; what comes beside it (0: nothing, 1: a table of records, 2: a
// report of a trap), where in the batch's bytes the table begins, its stride, how many records it
// has, whether there were more; then the record, or the GID that was reported.
constexpr size_t kCompletionHead = 17;
constexpr size_t kCompletionSlots = kCompletionHead + kRecordSlots;
// Completions that one call hands to JavaScript at most.
constexpr size_t kBatch = 16;
// Slots of a request: component mask; the record; the IP group as a GID, or zeros.
constexpr size_t kRequestSlots = 1 + kRecordSlots + 4;

void writeRecord(const McMemberRecord& record, double* slots);
McMemberRecord readRecord(const double* slots);
/** @param tableAt Where the bytes of its table begin, if it has one. */
void writeCompletion(const Completion& completion, size_t tableAt, double* slots);
JoinSpec readRequest(const double* slots);

}  // namespace rxib::addon
