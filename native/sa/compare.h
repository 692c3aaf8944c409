// Decides whether a group's record satisfies a request, as the subnet administrator would.
#pragma once

#include <cstdint>

#include "codec/mc_member_record.h"

namespace rxib::sa {

/**
 * The components under `mask` in which `group` does not satisfy `wanted`, as component-mask bits;
 * 0 when it does. A value whose selector is not in the mask is ignored, as the SA ignores it.
 */
uint64_t differingComponents(const McMemberRecord& group, const McMemberRecord& wanted,
                             uint64_t mask);

/** The components that a Set lacks for creating a group, as component-mask bits. */
inline uint64_t missingCreationComponents(uint64_t mask) { return kMcCreationComponents & ~mask; }

}  // namespace rxib::sa
