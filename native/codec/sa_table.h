// An answer with any number of records: one MAD, or what the kernel has put together from several
// of them (RMPP): the header of the first, then all data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/mad.h"

namespace rxib::codec {

/** Flag of the RMPP header: the answer may have more than one segment. */
constexpr uint8_t kRmppActive = 0x1;

/** Where the records of an answer stand within its bytes. */
struct SaTable {
  size_t count = 0;
  size_t stride = 0;       // from one record to the next
  bool truncated = false;  // a record that was begun does not end: there was more
};

/** Everything before the data; false, and `out` untouched, below kSaHeaderSize bytes. */
bool unpackSaHeader(const uint8_t* bytes, size_t length, SaMad& out);

/**
 * Finds the records, each of `recordSize` bytes, in a successful answer of `length` bytes, which
 * begins with `header`. A Get has exactly one, a GetTable as many as there are bytes for.
 *
 * False for an answer that is no such thing: an attribute offset smaller than the record, data
 * without an offset, no whole record where one has to be.
 */
bool findRecords(const SaMad& header, size_t length, size_t recordSize, SaTable& out);

}  // namespace rxib::codec
