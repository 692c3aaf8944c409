// The services registered with the subnet administrator, and their leases.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "codec/service_record.h"
#include "core/clock.h"

namespace rxib::embedded {

class ServiceRegistry {
 public:
  /** A service is known by its ServiceID, GID and P_Key; registering it again replaces the rest. */
  void put(Instant now, const ServiceRecord& record, uint64_t mask);
  /** False when there is none. `removed` is what stood there. */
  bool remove(Instant now, const ServiceRecord& record, ServiceRecord& removed);
  /** The latest first. */
  std::vector<ServiceRecord> find(Instant now, const ServiceRecord& wanted, uint64_t mask);
  void clear() { services_.clear(); }

 private:
  struct Service {
    ServiceRecord record;
    Instant expires = kNever;
  };
  using Services = std::list<Service>;

  Services::iterator findSame(const ServiceRecord& record);
  void expire(Instant now);

  Services services_;
};

}  // namespace rxib::embedded
