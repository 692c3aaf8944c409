#include "codec/sa_table.h"

#include <algorithm>

namespace rxib::codec {

bool unpackSaHeader(const uint8_t* bytes, size_t length, SaMad& out) {
  if (length < kSaHeaderSize) return false;
  MadBytes whole{};
  std::copy(bytes, bytes + kSaHeaderSize, whole.begin());
  return unpackSaMad(whole.data(), whole.size(), out);
}

bool findRecords(const SaMad& header, size_t length, size_t recordSize, SaTable& out) {
  if (length < kSaHeaderSize) return false;
  const size_t data = length - kSaHeaderSize;
  SaTable table;
  table.stride = size_t{header.attributeOffset} * 8;
  if (header.method != static_cast<uint8_t>(SaMethod::kGetTableResp)) {
    // One record, whose offset nobody needs; some administrators leave it out.
    if (data < recordSize) return false;
    table.stride = recordSize;
    table.count = 1;
    out = table;
    return true;
  }
  if (table.stride == 0) {
    // An empty table; on a real link it may come in a MAD of full length.
    if (data != 0 && data != kSaDataSize) return false;
    out = table;
    return true;
  }
  if (table.stride < recordSize) return false;
  table.count = data / table.stride;
  const size_t rest = data % table.stride;
  // The padding behind the last record, less than one unit of the offset, may be left out.
  if (rest >= recordSize && table.stride - recordSize < 8) {
    table.count += 1;
  } else if (rest > 0) {
    table.truncated = true;
  }
  if (table.count == 0) return false;
  out = table;
  return true;
}

}  // namespace rxib::codec
