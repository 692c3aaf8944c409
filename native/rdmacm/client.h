// Joins and leaves through the kernel's connection manager at one port of one device.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/completion.h"
#include "core/engine.h"
#include "rdma/port_events.h"
#include "rdmacm/identifier.h"
#include "rdmacm/system.h"

namespace rxib::rdmacm {

struct Options {
  std::string device;
  uint8_t port = 1;
  int portSpace = rdma::abi::kCmPortSpaceUdp;
  /** Joins go through this address only; otherwise through the first of the group's family. */
  std::optional<SocketAddress> source;
};

/**
 * One event channel, and an identifier of its own per handle: two handles of one group are then
 * told apart by the kernel, and a leave can't hit the other one's membership. All of it runs on one
 * thread, on which events are copied and acknowledged before anything is done about them; leaving
 * waits for acknowledgements and must never be what they wait for.
 */
class Client {
 public:
  Client(System system, Options options, PortStats& stats);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /** Makes the channel; called once, before everything else. */
  Verdict open();
  /** Begins to listen to the port; `waker` is called when takePortReports() has something to do. */
  void watch(Waker& waker);
  /** Readable when takeEvents() has something to do. */
  int fd() const;
  void takeEvents();
  void takePortReports();

  /** `sink` gets diagnostics, too; it outlives its detach(). */
  void attach(CompletionSink* sink);
  /** Frees every handle of `sink`. */
  void detach(CompletionSink* sink);
  void join(HandleId id, const JoinSpec& spec, CompletionSink* sink);
  /** False for a handle that is not known. */
  bool free(HandleId id);

  /** Leaves everything without a word and closes the channel. Idempotent. */
  void close();

  /** From any thread: the device is gone for good. So since before anybody was told. */
  bool removed() const { return removed_; }
  const PortState& state() const { return state_; }

 private:
  struct Handle {
    enum class Phase : uint8_t { kJoining, kJoined, kOver };
    HandleId id = 0;
    CompletionSink* sink = nullptr;
    Phase phase = Phase::kJoining;
    Identifier identifier;
    uint8_t joinState = 0;
    Gid mgid;
  };
  /** An event, copied before its original was acknowledged. */
  struct Event {
    int type;
    int status;
    HandleId handle;
    rdma::abi::AddressAttributes address;
    uint32_t qkey;
  };

  int start(Handle& handle, const JoinSpec& spec);
  int begin(Handle& handle, const SocketAddress& source, const SocketAddress& group);
  std::optional<SocketAddress> sourceFor(const SocketAddress& group) const;
  /** The port as it is now; null when it is gone. */
  const ReachablePort* look();
  /** kOk, or why there may be none: kENODEV without the port, or a shortage of descriptors. */
  int lookForAddresses();
  void standGuard();
  void on(const Event& event);
  void joined(Handle& handle, const Event& event);
  void end(Handle& handle, Completion completion);
  void dispose(Handle& handle);
  void removeDevice();
  void diagnose(const Diagnostic& diagnostic);

  const System system_;
  const Options options_;
  PortStats& stats_;
  PortState state_;
  std::atomic<bool> removed_{false};
  rdma::abi::CmChannel* channel_ = nullptr;
  std::unique_ptr<rdma::PortEventSource> reports_;
  std::vector<ReachablePort> seen_;  // as of the last look
  std::vector<SocketAddress> addresses_;
  // Bound and never joined: while it stands the library keeps the device open, which makes joins
  // cheap, and the kernel tells of the device's removal even when nobody is a member.
  Identifier guard_;
  std::vector<CompletionSink*> sinks_;
  std::unordered_map<HandleId, Handle> handles_;
};

}  // namespace rxib::rdmacm
