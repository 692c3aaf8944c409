// A subnet administrator reduced to what an SA client can tell: who is a member of what. It
// executes requests in the order in which they are sent, as a fabric delivers them.
#pragma once

#include <map>

#include "sa/compare.h"
#include "scripted_transport.h"

namespace rxib::test {

class ModelSa {
 public:
  struct Membership {
    McMemberRecord record;
    uint8_t bits = 0;
  };

  /** Executes `sent` and returns the response. */
  codec::SaMad execute(const SentMad& sent) {
    McMemberRecord asked = sent.record;
    switch (sent.method()) {
      case SaMethod::kSet: {
        if (asked.mgid.isZero()) {
          asked.mgid.bytes = {0xff, 0x15, 0xa0, 0x1b};
          asked.mgid.bytes[14] = static_cast<uint8_t>(++assigned_ >> 8);
          asked.mgid.bytes[15] = static_cast<uint8_t>(assigned_);
        }
        auto found = members.find(asked.mgid);
        if (found == members.end()) {
          if (sa::missingCreationComponents(sent.mad.componentMask) != 0) {
            return responseTo(sent, codec::kSaInsufficientComponents, asked);
          }
          found = members.emplace(asked.mgid, Membership{grantedRecord(asked), 0}).first;
        } else if (sa::differingComponents(found->second.record, asked, sent.mad.componentMask)) {
          return responseTo(sent, codec::kSaReqInvalid, asked);
        }
        found->second.bits |= asked.joinState;
        return responseTo(sent, 0, found->second.record);
      }
      case SaMethod::kDelete: {
        auto found = members.find(asked.mgid);
        if (found == members.end() || (asked.joinState & ~found->second.bits) != 0) {
          return responseTo(sent, codec::kSaReqInvalid, asked);
        }
        const McMemberRecord record = found->second.record;
        found->second.bits &= static_cast<uint8_t>(~asked.joinState);
        if (found->second.bits == 0) members.erase(found);
        return responseTo(sent, 0, record);
      }
      default: {
        auto found = members.find(asked.mgid);
        const bool exactly = (sent.mad.componentMask & bit(McComponent::kJoinState)) != 0;
        if (found == members.end() || (exactly && found->second.bits != asked.joinState)) {
          return responseTo(sent, codec::kSaNoRecords, asked);
        }
        // Nobody without the SM_Key is told who is a member, and how.
        McMemberRecord record = found->second.record;
        record.portGid = Gid{};
        record.joinState = 0;
        return responseTo(sent, 0, record);
      }
    }
  }

  /** Somebody else on the same port joins. */
  void join(const McMemberRecord& record) {
    auto found = members.emplace(record.mgid, Membership{grantedRecord(record), 0}).first;
    found->second.bits |= record.joinState;
  }

  std::map<Gid, Membership> members;

 private:
  unsigned assigned_ = 0;
};

}  // namespace rxib::test
