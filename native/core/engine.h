// What the addon drives: whatever joins and leaves groups at one port of a device. Implemented by
// the SA client's port and by the kernel's RDMA connection manager.
#pragma once

#include <memory>
#include <optional>

#include "codec/mc_member_record.h"
#include "core/ask.h"
#include "core/clock.h"
#include "core/completion.h"
#include "core/port.h"

namespace rxib {

/** What a user asks for when joining. `record.mgid` zero: the fabric assigns one. */
struct JoinSpec {
  McMemberRecord record;
  uint64_t mask = 0;
  /**
   * The IP group that the MGID stands for, an IPv4 address as ::ffff:a.b.c.d; zero when the user
   * gave an MGID. An engine that joins by address takes this one, the others never look at it.
   */
  Gid group;

  uint8_t bits() const { return record.joinState & 0xf; }
};

/** An actor: every function may be called from any thread, and none but waitSettled() blocks. */
class Engine {
 public:
  virtual ~Engine() = default;

  /** `sink` is kept until detach(). */
  virtual void attach(std::shared_ptr<CompletionSink> sink) = 0;
  /**
   * Frees every handle of `sink`; the engine lets go of it when it comes to it. With the last one
   * what would otherwise be left later is left at once.
   */
  virtual void detach(const std::shared_ptr<CompletionSink>& sink) = 0;
  virtual void join(HandleId id, const JoinSpec& spec, CompletionSink* sink) = 0;
  /** Asks the subnet administrator something; false, and nothing happens, where there is none. */
  virtual bool ask(HandleId id, const AskSpec& spec, CompletionSink* sink) {
    (void)id;
    (void)spec;
    (void)sink;
    return false;
  }
  /** The record of a group that this port is a member of; nothing where it is none. */
  virtual std::optional<McMemberRecord> memberRecord(const Gid& mgid) const {
    (void)mgid;
    return std::nullopt;
  }
  /** Ignores handles that it does not know. */
  virtual void free(HandleId id) = 0;
  /** Sets the engine to work on joins, asks and frees that it may have let gather. */
  virtual void flush() {}
  /** Leaves now what a reset took and nobody has rejoined, if no more than one sink is attached. */
  virtual void leaveStale() {}
  /** Frees every handle of every sink and lets go of them, as detach() does; the end is near. */
  virtual void leaveAll() = 0;

  virtual PortStats stats() const = 0;
  virtual PortState state() const = 0;
  /** Whether some freed handle may not yet have left the fabric. */
  virtual bool unsettled() const = 0;
  /** Blocks until all is settled; false when `limit` passed first, or the engine is stopped. */
  virtual bool waitSettled(Duration limit) const = 0;
};

}  // namespace rxib
