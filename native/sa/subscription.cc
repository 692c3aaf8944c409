#include "sa/subscription.h"

#include <memory>

#include "codec/inform_info.h"

namespace rxib::sa {
namespace {

constexpr uint16_t kEveryLid = 0xffff;
constexpr uint16_t kEveryType = 0xffff;
constexpr uint32_t kClassManager = 4;
constexpr uint32_t kGeneralServices = 1;  // the queue pair that reports go to
// 4.096 us * 2^18, about a second, for our answer to a report.
constexpr uint8_t kAnswerTime = 18;

std::shared_ptr<const SaRequest> inform(uint16_t trap, bool subscribe) {
  InformInfo info;
  info.lidRangeBegin = kEveryLid;
  info.isGeneric = true;
  info.subscribe = subscribe;
  info.type = kEveryType;
  info.trapNumber = trap;
  info.qpn = kGeneralServices;
  info.respTimeValue = kAnswerTime;
  info.producerType = kClassManager;
  auto request = std::make_shared<SaRequest>();
  request->method = codec::SaMethod::kSet;
  request->attribute = static_cast<uint16_t>(codec::SaAttribute::kInformInfo);
  request->recordSize = kInformInfoSize;
  codec::packInformInfo(info, request->data.data());
  return request;
}

}  // namespace

AskSpec subscriptionTo(uint16_t trap) {
  AskSpec spec;
  spec.make = inform(trap, true);
  spec.undo = inform(trap, false);
  spec.trap = trap;
  return spec;
}

}  // namespace rxib::sa
