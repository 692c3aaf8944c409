// How the fields of an MCMemberRecord are judged: on their own, against a group, against a port.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/mc_member_record.h"

namespace rxib::embedded {

/** Whether `mask` has every bit of `needed`. */
bool hasAll(uint64_t mask, uint64_t needed);

/** Membership of a partition is by the low 15 bits; a table's empty slots hold 0. */
bool samePartition(uint16_t a, uint16_t b);
/** False for an empty slot, of either membership. */
bool isPartition(uint16_t pkey);
/** As two P_Keys match on the wire: of two limited members of a partition neither hears the other.
 */
bool canTalk(uint16_t a, uint16_t b);
bool tableHolds(const std::vector<uint16_t>& table, uint16_t pkey);
bool tablesShareAKey(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b);

/** MTU and rate, where value and selector are both given, must be codes that exist. */
bool hasKnownUnits(const McMemberRecord& wanted, uint64_t mask);

/** The fields that an existing group must have as given: Q_Key, P_Key, TClass, SL, flow, hops. */
bool sameFixedFields(const McMemberRecord& wanted, uint64_t mask, const McMemberRecord& group);

/**
 * MTU and rate against an existing group. A selector counts by itself, with whatever value stands
 * in the record; a value without its selector does not count.
 */
bool selectorsAccept(const McMemberRecord& wanted, uint64_t mask, const McMemberRecord& group);

/**
 * Chooses MTU and rate of a new group on a port that can do `portMtu` and `portRate`. False when
 * what is asked can't be had; the record is then of no use.
 */
bool chooseMtu(McMemberRecord& record, uint64_t mask, uint8_t portMtu);
bool chooseRate(McMemberRecord& record, uint64_t mask, uint8_t portRate);

}  // namespace rxib::embedded
