#include "embedded/service_registry.h"

namespace rxib::embedded {
namespace {

bool has(uint64_t mask, ServiceComponent component, unsigned index = 0) {
  return (mask & bit(component, index)) != 0;
}

template <typename Values>
bool sameValues(uint64_t mask, ServiceComponent first, const Values& wanted, const Values& there) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (has(mask, first, static_cast<unsigned>(i)) && wanted[i] != there[i]) return false;
  }
  return true;
}

/** The lease is not compared. */
bool matches(const ServiceRecord& wanted, uint64_t mask, const ServiceRecord& there) {
  if (has(mask, ServiceComponent::kServiceId) && wanted.serviceId != there.serviceId) return false;
  if (has(mask, ServiceComponent::kServiceGid) && wanted.serviceGid != there.serviceGid) {
    return false;
  }
  if (has(mask, ServiceComponent::kPkey) && wanted.pkey != there.pkey) return false;
  if (has(mask, ServiceComponent::kKey) && wanted.key != there.key) return false;
  if (has(mask, ServiceComponent::kName) && wanted.name != there.name) return false;
  return sameValues(mask, ServiceComponent::kData8, wanted.data8, there.data8) &&
         sameValues(mask, ServiceComponent::kData16, wanted.data16, there.data16) &&
         sameValues(mask, ServiceComponent::kData32, wanted.data32, there.data32) &&
         sameValues(mask, ServiceComponent::kData64, wanted.data64, there.data64);
}

}  // namespace

ServiceRegistry::Services::iterator ServiceRegistry::findSame(const ServiceRecord& record) {
  auto same = services_.begin();
  while (same != services_.end() &&
         (same->record.serviceId != record.serviceId ||
          same->record.serviceGid != record.serviceGid || same->record.pkey != record.pkey)) {
    ++same;
  }
  return same;
}

void ServiceRegistry::expire(Instant now) {
  services_.remove_if([now](const Service& service) { return service.expires <= now; });
}

void ServiceRegistry::put(Instant now, const ServiceRecord& record, uint64_t mask) {
  expire(now);
  Service service;
  service.record = record;
  // All else counts in the mask or not.
  if (!has(mask, ServiceComponent::kLease)) service.record.leaseSeconds = kIndefiniteLease;
  if (service.record.leaseSeconds != kIndefiniteLease) {
    // OpenSM looks at its leases once a second, so that even a lease of 0 lives for a moment.
    const auto lease = std::chrono::seconds{service.record.leaseSeconds};
    service.expires = after(now, lease.count() == 0 ? std::chrono::seconds{1} : lease);
  }
  const auto same = findSame(record);
  if (same == services_.end()) {
    services_.push_front(std::move(service));
  } else {
    *same = std::move(service);
  }
}

bool ServiceRegistry::remove(Instant now, const ServiceRecord& record, ServiceRecord& removed) {
  expire(now);
  const auto same = findSame(record);
  if (same == services_.end()) return false;
  removed = same->record;
  services_.erase(same);
  return true;
}

std::vector<ServiceRecord> ServiceRegistry::find(Instant now, const ServiceRecord& wanted,
                                                 uint64_t mask) {
  expire(now);
  std::vector<ServiceRecord> found;
  for (const Service& service : services_) {
    if (matches(wanted, mask, service.record)) found.push_back(service.record);
  }
  return found;
}

}  // namespace rxib::embedded
