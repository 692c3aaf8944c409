#include "codec/mad.h"

#include <algorithm>

#include "codec/byte_order.h"

namespace rxib::codec {

void packSaMad(const SaMad& mad, MadBytes& out) {
  out.fill(0);
  uint8_t* p = out.data();
  p[0] = mad.baseVersion;
  p[1] = mad.managementClass;
  p[2] = mad.classVersion;
  p[3] = mad.method;
  write16(p + 4, mad.status);
  write64(p + 8, mad.transactionId);
  write16(p + 16, mad.attributeId);
  write32(p + 20, mad.attributeModifier);
  p[24] = mad.rmppVersion;
  p[25] = mad.rmppType;
  p[26] = mad.rmppFlags & 0x7;
  p[27] = mad.rmppStatus;
  write32(p + 28, mad.rmppData1);
  write32(p + 32, mad.rmppData2);
  write64(p + 36, mad.smKey);
  write16(p + 44, mad.attributeOffset);
  write64(p + 48, mad.componentMask);
  std::copy(mad.data.begin(), mad.data.end(), p + kSaHeaderSize);
}

bool unpackSaMad(const uint8_t* p, size_t length, SaMad& out) {
  if (length != kMadSize) return false;
  out.baseVersion = p[0];
  out.managementClass = p[1];
  out.classVersion = p[2];
  out.method = p[3];
  out.status = read16(p + 4);
  out.transactionId = read64(p + 8);
  out.attributeId = read16(p + 16);
  out.attributeModifier = read32(p + 20);
  out.rmppVersion = p[24];
  out.rmppType = p[25];
  out.rmppFlags = p[26] & 0x7;
  out.rmppStatus = p[27];
  out.rmppData1 = read32(p + 28);
  out.rmppData2 = read32(p + 32);
  out.smKey = read64(p + 36);
  out.attributeOffset = read16(p + 44);
  out.componentMask = read64(p + 48);
  std::copy(p + kSaHeaderSize, p + kMadSize, out.data.begin());
  return true;
}

bool readTransactionId(const uint8_t* bytes, size_t length, uint64_t& out) {
  if (length < kMadHeaderSize) return false;
  out = read64(bytes + 8);
  return true;
}

const char* saStatusName(uint16_t status) {
  switch (status) {
    case kSaOk:
      return "OK";
    case kSaBusy:
      return "BUSY";
    case kSaRedirect:
      return "REDIRECT";
    case kSaBadVersion:
      return "BAD_CLASS_OR_VERSION";
    case kSaMethodUnsupported:
      return "METHOD_UNSUPPORTED";
    case kSaMethodAttributeUnsupported:
      return "METHOD_ATTRIBUTE_UNSUPPORTED";
    case kSaInvalidValue:
      return "INVALID_VALUE";
    case kSaNoResources:
      return "NO_RESOURCES";
    case kSaReqInvalid:
      return "REQ_INVALID";
    case kSaNoRecords:
      return "NO_RECORDS";
    case kSaTooManyRecords:
      return "TOO_MANY_RECORDS";
    case kSaReqInvalidGid:
      return "REQ_INVALID_GID";
    case kSaInsufficientComponents:
      return "INSUFFICIENT_COMPONENTS";
    case kSaReqDenied:
      return "REQ_DENIED";
    case kSaPrioritySuggested:
      return "PRIORITY_SUGGESTED";
    default:
      return "UNKNOWN";
  }
}

}  // namespace rxib::codec
