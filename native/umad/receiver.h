// The thread that reads an opened umad port.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/machine.h"
#include "core/mad_transport.h"
#include "rdma/umad_library.h"

namespace rxib::umad {

/**
 * Reads with a bounded wait, because the descriptor of a simulated port cannot be polled together
 * with another one, posts, and lets the owner run on its thread. It judges nothing beyond what the
 * kernel says of a message: the kernel's report of a request it gave up is consumed here, for the
 * attempt has a timer of its own.
 */
class Receiver {
 public:
  /** `port` is open and stays so until stop() has returned. */
  Receiver(std::shared_ptr<const rdma::UmadLibrary> library, std::string device, int port);
  ~Receiver() { stop(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void start();
  /**
   * From now on `waker` is called after each post, by wakeHere() and with nothing locked, and again
   * when that asks for it; what has arrived before counts as a post.
   */
  void announceTo(Waker& waker);
  /** A request has been sent for which the kernel owes one message: the answer, or its report. */
  void expectOne();
  /** It was not sent after all. */
  void expectOneLess();
  /**
   * Unregisters an agent when nothing is being received: the simulator does not bear it otherwise.
   */
  void retire(int agent);
  /** Whether the agent last retired is still registered; it then stays so. */
  bool keep();
  /**
   * Ends the thread and throws away what is still unread. What is still owed is waited for while it
   * keeps coming: the simulator crashes, or hangs at exit, when an answer comes for a closed port.
   * Idempotent.
   */
  void stop();

  /** Everything from the SA since the last call. */
  std::vector<ReceivedMad> takeMads();
  /**
   * Every directed-route SMP since the last call, after waiting for one up to `limit`. The thread
   * itself may call it, from a run: it then reads meanwhile.
   */
  std::vector<ReceivedMad> takeSmps(Duration limit = Duration{0});
  /** The device has been taken away; nothing will arrive any more. */
  bool deviceGone() const;

 private:
  enum class Outcome { kMessage, kNothing, kFailed };

  void loop();
  Outcome receive(int timeoutMs, bool post);
  void post(ReceivedMad message);
  Instant offer(Instant due, Duration reach);
  bool owed() const;

  const std::shared_ptr<const rdma::UmadLibrary> library_;
  const std::string device_;
  const int port_;
  const size_t headerSize_;
  std::vector<uint8_t> buffer_;  // the thread's; after the join, stop()'s
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  size_t owed_ = 0;
  int retiring_ = -1;
  bool deviceGone_ = false;
  Waker* waker_ = nullptr;
  bool posted_ = false;  // since the last offer
  std::vector<ReceivedMad> mads_;
  std::vector<ReceivedMad> smps_;
};

}  // namespace rxib::umad
