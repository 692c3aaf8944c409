// Which paths there are between ports, and whether they satisfy a request.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/path_record.h"
#include "embedded/known_port.h"

namespace rxib::embedded {

/** What is wrong with a request before any path is looked at; kSaOk when nothing is. */
uint16_t pathRequestStatus(const PathRecord& wanted, uint64_t mask,
                           const std::vector<KnownPort>& ports);

/** Every path that satisfies the request, in the order in which OpenSM lists them. */
std::vector<PathRecord> findPaths(const PathRecord& wanted, uint64_t mask,
                                  const std::vector<KnownPort>& ports);

}  // namespace rxib::embedded
