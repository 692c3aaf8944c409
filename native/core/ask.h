// What a user may ask of the subnet administrator beside joining groups.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/mad.h"
#include "core/clock.h"

namespace rxib {

/** One SA request as it is sent. */
struct SaRequest {
  codec::SaMethod method = codec::SaMethod::kGet;
  uint16_t attribute = 0;
  uint64_t mask = 0;
  uint64_t smKey = 0;
  size_t recordSize = 0;  // of the records in its answer
  std::array<uint8_t, codec::kSaDataSize> data{};
};

/**
 * A question that is answered once; or, with `undo`, something that stands at the SA until its
 * handle is freed: a service, or a subscription to notices.
 */
struct AskSpec {
  std::shared_ptr<const SaRequest> make;
  std::shared_ptr<const SaRequest> undo;
  /** Asks whether it still stands; absent where that can't be asked. */
  std::shared_ptr<const SaRequest> probe;
  /** How long it stands without being renewed. It is renewed when half of that has passed. */
  Duration lease = Duration::max();
  /** The trap whose notices go to the handle; 0: none. */
  uint16_t trap = 0;
};

/** The records of an answer, or a notice. */
struct RecordTable {
  std::vector<uint8_t> bytes;
  size_t stride = 0;
  size_t count = 0;
  bool truncated = false;  // there was more than the transport could carry
  bool notice = false;
};

}  // namespace rxib
