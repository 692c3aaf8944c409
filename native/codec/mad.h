// The 256-byte SA MAD: 24-byte MAD header, 12-byte RMPP header, SM_Key, attribute offset,
// component mask and 200 bytes of data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rxib::codec {

constexpr size_t kMadSize = 256;
constexpr size_t kMadHeaderSize = 24;
constexpr size_t kSaHeaderSize = 56;
constexpr size_t kSaDataSize = 200;

constexpr uint8_t kMadBaseVersion = 1;
constexpr uint8_t kClassSubnAdm = 0x03;
constexpr uint8_t kSaClassVersion = 2;

enum class SaMethod : uint8_t {
  kGet = 0x01,
  kSet = 0x02,
  kReport = 0x06,
  kGetTable = 0x12,
  kDelete = 0x15,
  kGetResp = 0x81,
  kReportResp = 0x86,
  kGetTableResp = 0x92,
  kDeleteResp = 0x95,
};

enum class SaAttribute : uint16_t {
  kClassPortInfo = 0x01,
  kNotice = 0x02,
  kInformInfo = 0x03,
  kServiceRecord = 0x31,
  kPathRecord = 0x35,
  kMcMemberRecord = 0x38,
};

/** MAD status values of the subnet administrator, host order. */
enum SaStatus : uint16_t {
  kSaOk = 0x0000,
  kSaBusy = 0x0001,
  kSaRedirect = 0x0002,
  kSaBadVersion = 0x0004,
  kSaMethodUnsupported = 0x0008,
  kSaMethodAttributeUnsupported = 0x000C,
  kSaInvalidValue = 0x001C,
  kSaNoResources = 0x0100,
  kSaReqInvalid = 0x0200,
  kSaNoRecords = 0x0300,
  kSaTooManyRecords = 0x0400,
  kSaReqInvalidGid = 0x0500,
  kSaInsufficientComponents = 0x0600,
  kSaReqDenied = 0x0700,
  kSaPrioritySuggested = 0x0800,
};

using MadBytes = std::array<uint8_t, kMadSize>;

/** An SA MAD taken apart. Methods and attributes stay numbers: a peer may send any. */
struct SaMad {
  uint8_t baseVersion = kMadBaseVersion;
  uint8_t managementClass = kClassSubnAdm;
  uint8_t classVersion = kSaClassVersion;
  uint8_t method = 0;
  uint16_t status = 0;
  uint64_t transactionId = 0;
  uint16_t attributeId = 0;
  uint32_t attributeModifier = 0;
  // RMPP header
  uint8_t rmppVersion = 0;
  uint8_t rmppType = 0;
  uint8_t rmppFlags = 0;  // low 3 bits of the RRespTime/flags byte
  uint8_t rmppStatus = 0;
  uint32_t rmppData1 = 0;  // segment number
  uint32_t rmppData2 = 0;  // payload length or window
  uint64_t smKey = 0;
  uint16_t attributeOffset = 0;  // in units of 8 bytes
  uint64_t componentMask = 0;
  std::array<uint8_t, kSaDataSize> data{};
};

void packSaMad(const SaMad& mad, MadBytes& out);

/** False, and `out` untouched, unless `length` is exactly kMadSize. The content is not judged. */
bool unpackSaMad(const uint8_t* bytes, size_t length, SaMad& out);

/** Only the header's transaction id, for matching; false below kMadHeaderSize bytes. */
bool readTransactionId(const uint8_t* bytes, size_t length, uint64_t& out);

/** The name of an SA status as the InfiniBand specification spells it, or "UNKNOWN". */
const char* saStatusName(uint16_t status);

}  // namespace rxib::codec
