// A librdmacm, and a kernel behind it, that answer as the real ones were measured to, and note as a
// violation what would wait for ever, leak, or be read as something else.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "rdmacm/system.h"

namespace rxib::test {

/** Only one at a time: librdmacm's functions carry no context. */
class StrictFakeRdmaCm {
 public:
  StrictFakeRdmaCm();
  ~StrictFakeRdmaCm();

  rdmacm::System system();

  // The machine. Devices have one port each.

  void addDevice(const std::string& device, LinkLayer layer,
                 const std::vector<std::string>& addresses, uint16_t pkey = 0);
  void addAddress(const std::string& device, const std::string& address);
  /** Identifiers that are bound stay so; their joins fail with a status that says nothing. */
  void flushAddresses(const std::string& device);
  /** As `rdma dev set NAME name OTHER` does, of which nobody is told. */
  void renameDevice(const std::string& device, const std::string& other);
  /** Begins to remove it; every identifier bound to it is told. */
  void removeDevice(const std::string& device);
  /** Nobody has it open any more: the removal has completed. */
  bool released(const std::string& device) const;
  void failChannel(int error) { channelError_ = error; }
  /** The next bind to this device's addresses is followed by a flush. */
  void flushAfterBind(const std::string& device) { flushAfterBind_ = device; }
  void withoutExtendedJoin() { extended_ = false; }
  /** rdma_join_multicast fails with this errno; 0: no more. */
  void failJoins(int error) { joinError_ = error; }
  /** rdma_leave_multicast fails with this errno, having forgotten the membership. */
  void failLeaves(int error) { leaveError_ = error; }

  // The fabric.

  /** Joins are answered by answerAll() only. */
  void holdAnswers() { held_ = true; }
  void answerAll();
  /** Joins are answered with MULTICAST_ERROR and this status. */
  void refuseJoins(int raw);
  void acceptJoins();
  /** MULTICAST_ERROR on every membership of the group. */
  void lose(const Gid& group, int raw);
  void changeAddress(const std::string& device);
  /** What the SA assigns for MGID 0. */
  void assign(const Gid& mgid) { assigned_ = mgid; }

  // The port's events.

  void report(rdma::PortReport report);
  bool watched() const;

  // What was done.

  struct Member {
    std::string device;
    Gid group;
    int portSpace = 0;
    bool sendOnly = false;
    bool byMgid = false;
    std::string source;
  };
  std::vector<Member> members() const;
  size_t identifiers() const;
  size_t channels() const;
  std::vector<std::string> violations() const;

 private:
  struct Id;
  struct Multicast {
    uint64_t serial = 0;
    Gid group;
    bool sendOnly = false;
    bool byMgid = false;
    bool answered = false;
    bool joined = false;
    bool failed = false;
  };
  struct Device {
    std::string name;
    PortInfo info;
    std::vector<rdmacm::SocketAddress> addresses;
    uint16_t pkey = 0;
    bool present = true;
    bool openInLibrary = false;
    rdma::abi::VerbsContext verbs{};
  };
  struct Event {
    rdma::abi::CmEvent event{};
    uint64_t multicast = 0;
  };
  struct Source;

  rdma::RdmaCmLibrary table();
  void violate(const std::string& what) { violations_.push_back(what); }
  int createId(rdma::abi::CmId** out, void* context, int portSpace);
  int destroyId(rdma::abi::CmId* raw);
  int bind(rdma::abi::CmId* raw, const sockaddr* address);
  int join(rdma::abi::CmId* raw, const sockaddr* address, bool sendOnly);
  int leave(rdma::abi::CmId* raw, const sockaddr* address);
  int getEvent(rdma::abi::CmEvent** out);
  int acknowledge(rdma::abi::CmEvent* event);
  void synchronise();
  void answer(Id& id, Multicast& multicast);
  void queue(Id& id, int type, int status, const Multicast* multicast);
  void dropQueued(const Id* id, uint64_t multicast);
  bool unacknowledged(const Id* id, uint64_t multicast) const;
  Id* find(rdma::abi::CmId* raw, const char* what);
  Device* deviceOf(const std::string& name) const;
  bool holdsAddress(const Device& device, const rdmacm::SocketAddress& address) const;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Id>> ids_;
  std::deque<std::unique_ptr<Event>> queued_;
  std::vector<std::unique_ptr<Event>> taken_;
  std::vector<std::string> violations_;
  rdma::abi::CmChannel channel_{-1};
  size_t channels_ = 0;
  uint64_t lastSerial_ = 0;
  int channelError_ = 0;
  int joinError_ = 0;
  int leaveError_ = 0;
  bool held_ = false;
  bool refused_ = false;
  bool extended_ = true;
  int refusal_ = 0;
  std::string flushAfterBind_;
  Gid assigned_;
  Source* source_ = nullptr;
  std::deque<rdma::PortReport> reports_;
  std::set<std::string> watchedDevices_;
};

}  // namespace rxib::test
