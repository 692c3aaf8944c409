// A libibumad that is as strict as the kernel behind the real one, and as fragile as the simulator
// where that is the stricter of the two. What breaks a rule is refused as the kernel would, or
// noted as a violation where the kernel would only misbehave later; the destructor's test asks for
// none.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "codec/mad.h"
#include "core/port.h"
#include "rdma/umad_library.h"

namespace rxib::test {

/** Only one at a time: libibumad's functions carry no context. */
class StrictFakeUmad {
 public:
  /** `headerSize` is 56 or 64, by the age of the kernel's interface. */
  explicit StrictFakeUmad(size_t headerSize = 64);
  ~StrictFakeUmad();

  std::shared_ptr<const rdma::UmadLibrary> library() const { return library_; }

  // The machine.

  /** Both what sysfs says and what the port itself says. */
  void addPort(const PortInfo& info);
  /** It may be added again; what was opened before stays deaf. */
  void removeDevice(const std::string& device);
  /** What the port itself says from now on; sysfs keeps its snapshot, as in the simulator. */
  void setLive(const PortState& state);
  void setSysfs(const std::string& device, uint8_t port, const PortState& state);
  PortState live() const;
  /** The port's own node no longer answers SMPs. */
  void muteSmps(bool muted);
  void failInit() { initFails_ = true; }
  /** umad_open_port fails with this errno. */
  void failOpen(int error) { openError_ = error; }
  /** No agent for this class. */
  void refuseClass(int managementClass) { refusedClass_ = managementClass; }
  /** Another program has the method mask for reports, or gives it back. */
  void holdReports(bool held);
  /** Agents registered at present. */
  size_t agents() const;

  // The wire.

  /** An SA request the kernel took. */
  struct Sent {
    std::vector<uint8_t> mad;
    uint32_t lid = 0;
    uint32_t qpn = 0;
    uint32_t qkey = 0;
    uint8_t sl = 0;
    int pkeyIndex = 0;
    bool grh = false;
    std::vector<uint8_t> gid;
    uint8_t hopLimit = 0;
    int timeoutMs = 0;
    int retries = 0;

    uint64_t transactionId() const;
  };
  std::vector<Sent> sent() const;
  /** Calls of umad_recv so far. */
  int receives() const;
  /** SMPs taken so far. */
  int smps() const;
  /**
   * A MAD from the wire. An answer reaches the agent whose request of that transaction is pending
   * and ends it; without one it is dropped, and false returned. `length` below 0: all of it.
   */
  bool deliver(std::vector<uint8_t> mad, uint16_t sourceLid);
  /** A request from the wire, for whoever has the mask of its method; false: for nobody. */
  bool deliverReport(std::vector<uint8_t> mad, uint16_t sourceLid);
  /** The kernel gives up every pending SA request: each sender gets a header with status 110. */
  void expire();
  size_t pending() const;
  /** The wire has been silent for this long: everything delivered has been read. */
  bool drained() const;

  std::vector<std::string> violations() const;
  bool portOpen() const;

 private:
  struct Message {
    int agent = 0;
    uint32_t status = 0;
    uint16_t sourceLid = 0;
    std::vector<uint8_t> bytes;
  };
  struct Agent {
    int port = 0;
    int managementClass = 0;
    uint8_t rmppVersion = 0;
    bool hasReports = false;
    std::map<uint32_t, Sent> pending;  // by the low half of the transaction id
  };

  bool gone(int port) const;
  static rdma::UmadLibrary table();
  void violate(const std::string& what) { violations_.push_back(what); }
  int send(int port, int agentId, uint8_t* buffer, int length, int timeoutMs, int retries);
  int receive(int port, uint8_t* buffer, int* length, int timeoutMs);
  void answerSmp(int agentId, const Sent& request);
  void queue(Message message);

  const size_t headerSize_;
  std::shared_ptr<const rdma::UmadLibrary> library_;
  bool initFails_ = false;
  int openError_ = 0;
  int refusedClass_ = -1;
  bool reportsHeld_ = false;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<PortInfo> ports_;
  PortState live_;
  bool smpsMuted_ = false;
  std::set<int> openPorts_;
  std::set<int> receiving_;  // ports that are being read
  int receives_ = 0;
  int nextAgent_ = 0;
  int smps_ = 0;
  int removals_ = 0;  // each leaves the ports opened before it deaf for good
  std::map<int, Agent> agents_;
  std::deque<Message> inbox_;
  std::vector<Sent> sent_;
  std::vector<std::string> violations_;
};

}  // namespace rxib::test
