// The connection manager's client as an actor, on an I/O thread of its own.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "core/machine.h"
#include "core/queued_engine.h"
#include "rdmacm/client.h"

namespace rxib::rdmacm {

class Channel final : public QueuedEngine, private Waker {
 public:
  struct Opened {
    std::unique_ptr<Channel> channel;
    Verdict verdict;
  };
  /**
   * kENOENT: a library is missing. kENODEV: no such port, or no kernel module. kEACCES: no
   * permission. The port need not be active, nor have an address yet.
   */
  static Opened open(System system, Options options);
  /** On this machine. */
  static Opened open(Options options);

  ~Channel() override;
  /** Ends the thread, which leaves what is still joined; nobody is told. Idempotent. */
  void stop();
  /** The device is gone for good; another channel may find it again. */
  bool removed() const { return client_.removed(); }

 private:
  Channel(System system, Options options);
  void wake() override;
  void wakeEngine() override { wake(); }
  void loop();
  void execute(Command& command);

  Client client_;
  int wakeFd_ = -1;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace rxib::rdmacm
