// What arrives from the network first: headers and tables of records, of any length.
#include "codec/mad.h"

#include "check.h"
#include "codec/sa_table.h"

using namespace rxib;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t transaction = 0;
  CHECK_EQ(codec::readTransactionId(data, size, transaction), size >= codec::kMadHeaderSize);

  codec::SaMad mad;
  CHECK_EQ(codec::unpackSaMad(data, size, mad), size == codec::kMadSize);
  if (size == codec::kMadSize) {
    CHECK_EQ(mad.transactionId, transaction);
    // What was read and is written again reads the same.
    codec::MadBytes bytes;
    codec::packSaMad(mad, bytes);
    codec::SaMad again;
    CHECK(codec::unpackSaMad(bytes.data(), bytes.size(), again));
    codec::MadBytes twice;
    codec::packSaMad(again, twice);
    CHECK(bytes == twice);
    CHECK(again.data == mad.data);
    CHECK_EQ(again.componentMask, mad.componentMask);
    CHECK_EQ(again.status, mad.status);
    CHECK_EQ(again.attributeId, mad.attributeId);
    CHECK(codec::saStatusName(mad.status) != nullptr);
  }

  codec::SaMad header;
  if (!codec::unpackSaHeader(data, size, header)) return 0;
  CHECK(size >= codec::kSaHeaderSize);
  for (size_t recordSize : {size_t{36}, size_t{52}, size_t{64}, size_t{72}, size_t{176}}) {
    codec::SaTable table;
    if (!codec::findRecords(header, size, recordSize, table)) continue;
    if (table.count == 0) continue;
    // Every record that is said to be there ends within the bytes.
    CHECK(table.stride >= recordSize || table.count == 1);
    CHECK(codec::kSaHeaderSize + (table.count - 1) * table.stride + recordSize <= size);
  }
  return 0;
}
