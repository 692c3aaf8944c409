#include "umad/receiver.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/byte_order.h"
#include "codec/mad.h"
#include "umad/discovery.h"
#include "umad/smp.h"

namespace rxib::umad {
namespace {

// Bounds how long stop() takes, and what a run may leave to this thread.
constexpr auto kReceiveLimit = std::chrono::milliseconds{50};
constexpr uint8_t kResponseBit = 0x80;
constexpr auto kFailurePause = std::chrono::milliseconds{100};
// A message that does not fit stays in the kernel's queue and would block it for ever. SA answers
// longer than one MAD are not ours to ask for, so this is generous.
constexpr size_t kLargestMessage = size_t{1} << 22;
// An SA that is alive answers sooner than this; one that is not must not hold up an exit.
constexpr int kDrainQuietMs = 100;
constexpr auto kDrainLimit = std::chrono::milliseconds{500};

/**
 * An SA answer is 256 bytes on the wire, but it may be handed over without the zeros behind its
 * record: OpenSM sends it so, and the simulator and reassembly keep the length. Only an answer that
 * has its whole record, by its own attribute offset, is filled up; anything else stays as truncated
 * as it came.
 */
void fillUp(std::vector<uint8_t>& bytes) {
  if (bytes.size() < codec::kSaHeaderSize || bytes.size() >= codec::kMadSize) return;
  if (bytes[1] != codec::kClassSubnAdm) return;
  // The length of a table says how many records it has.
  if (bytes[3] == static_cast<uint8_t>(codec::SaMethod::kGetTableResp)) return;
  const size_t record = size_t{codec::read16(bytes.data() + 44)} * 8;
  if (record > 0 && bytes.size() >= codec::kSaHeaderSize + record) bytes.resize(codec::kMadSize);
}

/** Milliseconds, as long as one receive may wait; never 0, which libibumad takes for ever. */
int waitUntil(Instant end, Instant now) {
  const Duration left = std::clamp(end - now, Duration{1}, Duration{kReceiveLimit});
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Receiver::Receiver(std::shared_ptr<const rdma::UmadLibrary> library, std::string device, int port)
    : library_(std::move(library)),
      device_(std::move(device)),
      port_(port),
      headerSize_(library_->headerSize()),
      buffer_(headerSize_ + codec::kMadSize) {}

void Receiver::start() {
  thread_ = std::thread([this] { loop(); });
}

void Receiver::announceTo(Waker& waker) {
  std::lock_guard<std::mutex> lock(mutex_);
  waker_ = &waker;
  if (!mads_.empty() || !smps_.empty() || deviceGone_) waker.wake();
}

void Receiver::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    waker_ = nullptr;
  }
  changed_.notify_all();
  thread_.join();
  const Instant limit = after(steadyNow(), kDrainLimit);
  while (!deviceGone() && steadyNow() < limit) {
    // Without a debt only what has already come is thrown away.
    if (receive(owed() ? kDrainQuietMs : 1, false) != Outcome::kMessage) return;
  }
}

void Receiver::expectOne() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++owed_;
}

void Receiver::expectOneLess() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (owed_ > 0) --owed_;
}

void Receiver::retire(int agent) {
  std::lock_guard<std::mutex> lock(mutex_);
  retiring_ = agent;
}

bool Receiver::keep() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(retiring_, -1) >= 0;
}

bool Receiver::owed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return owed_ > 0;
}

std::vector<ReceivedMad> Receiver::takeMads() {
  std::vector<ReceivedMad> taken;
  std::lock_guard<std::mutex> lock(mutex_);
  taken.swap(mads_);
  return taken;
}

std::vector<ReceivedMad> Receiver::takeSmps(Duration limit) {
  std::vector<ReceivedMad> taken;
  std::unique_lock<std::mutex> lock(mutex_);
  auto over = [this] { return !smps_.empty() || stopping_ || deviceGone_; };
  if (limit > Duration{0} && std::this_thread::get_id() == thread_.get_id()) {
    const Instant end = after(steadyNow(), limit);
    for (Instant now = steadyNow(); !over() && now < end; now = steadyNow()) {
      lock.unlock();
      const Outcome outcome = receive(waitUntil(end, now), true);
      lock.lock();
      if (outcome != Outcome::kFailed) continue;
      // A failure must not turn into a busy loop of the caller, who would come again.
      changed_.wait_until(lock, end, over);
      break;
    }
  } else if (limit > Duration{0}) {
    changed_.wait_for(lock, limit, over);
  }
  taken.swap(smps_);
  return taken;
}

bool Receiver::deviceGone() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return deviceGone_;
}

void Receiver::loop() {
  Instant due = kNever;
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      // The kernel would not mind, but libumad2sim crashes when an agent goes while another one
      // waits for an answer.
      if (retiring_ >= 0 && owed_ == 0)
        library_->unregisterAgent(port_, std::exchange(retiring_, -1));
    }
    const Outcome outcome = receive(waitUntil(due, steadyNow()), true);
    const bool failed = outcome == Outcome::kFailed;
    // Before a pause, what this thread has taken on goes back.
    if (failed && due != kNever) due = Instant{};
    // Whatever the outcome: a run on this thread may have read as well.
    due = offer(due, failed ? Duration{0} : Duration{kReceiveLimit});
    if (outcome != Outcome::kFailed) continue;
    const bool gone = !deviceExists(*library_, device_);
    std::unique_lock<std::mutex> lock(mutex_);
    if (gone) {
      deviceGone_ = true;
      if (waker_ != nullptr) waker_->wake();
      changed_.notify_all();
      return;
    }
    // A failure that lasts must not turn into a busy loop.
    changed_.wait_for(lock, kFailurePause, [this] { return stopping_; });
  }
}

Receiver::Outcome Receiver::receive(int timeoutMs, bool posting) {
  int length = static_cast<int>(buffer_.size() - headerSize_);
  const int result = library_->receive(port_, buffer_.data(), &length, timeoutMs);
  if (result < 0) {
    const int error = result < -1 ? -result : errno;
    switch (error) {
      case ETIMEDOUT:
      case EAGAIN:
      case EINTR:
        return Outcome::kNothing;
      case ENOSPC:
        // Read again with more room.
        if (buffer_.size() >= kLargestMessage) return Outcome::kFailed;
        buffer_.resize(headerSize_ + std::max(2 * (buffer_.size() - headerSize_),
                                              static_cast<size_t>(std::max(length, 0))));
        return Outcome::kMessage;
      default:
        return Outcome::kFailed;
    }
  }
  const auto* bytes = static_cast<const uint8_t*>(library_->mad(buffer_.data()));
  const bool returned = library_->status(buffer_.data()) != 0;
  // What others ask of us was never owed.
  if (returned || (length > 3 && (bytes[3] & kResponseBit) != 0)) expectOneLess();
  if (!posting || returned) return Outcome::kMessage;
  const auto size =
      std::min(static_cast<size_t>(std::max(length, 0)), buffer_.size() - headerSize_);
  const auto* address = reinterpret_cast<const uint8_t*>(&library_->address(buffer_.data())->lid);
  ReceivedMad message{std::vector<uint8_t>(bytes, bytes + size), codec::read16(address)};
  fillUp(message.bytes);
  post(std::move(message));
  return Outcome::kMessage;
}

void Receiver::post(ReceivedMad message) {
  const bool smp = message.bytes.size() > 1 && message.bytes[1] == kClassSubnDirected;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    (smp ? smps_ : mads_).push_back(std::move(message));
    posted_ = true;
  }
  if (smp) changed_.notify_all();
}

/**
 * Has what was posted and what is due dealt with, on this thread unless another is at it; returns
 * when something is due again.
 */
Instant Receiver::offer(Instant due, Duration reach) {
  Waker* waker = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (waker_ == nullptr || (!posted_ && steadyNow() < due)) return due;
    posted_ = false;
    waker = waker_;
  }
  // It outlives stop(), which waits for this thread.
  return waker->wakeHere(reach);
}

}  // namespace rxib::umad
