#include <utility>

#include "embedded/fabric_state.h"

namespace rxib::embedded {
namespace {

class EmbeddedTransport final : public MadTransport {
 public:
  EmbeddedTransport(std::shared_ptr<FabricState> state, std::shared_ptr<Endpoint> client)
      : state_(std::move(state)), client_(std::move(client)) {
    refresh();
  }
  ~EmbeddedTransport() override { stop(); }

  void start(Waker& waker) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    client_->waker = &waker;
    if (!client_->inbox.empty()) waker.wake();
  }

  Instant poll(Instant, Listener& listener) override {
    decltype(client_->inbox) arrived;
    {
      std::lock_guard<std::mutex> lock(state_->mutex);
      arrived.swap(client_->inbox);
    }
    // Without the mutex: the listener sends while it listens.
    for (const auto& item : arrived) {
      if (const auto* mad = std::get_if<ReceivedMad>(&item)) {
        listener.onMad(*mad);
      } else if (const auto* news = std::get_if<PortNews>(&item)) {
        port_ = news->state;
        listener.onPortEvent(news->event);
      }
    }
    return kNever;
  }

  int send(const codec::MadBytes& mad, uint16_t destinationLid, uint8_t, Duration) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return stopped_ ? kEIO : state_->send(client_, mad, destinationLid);
  }

  const PortState& port() const override { return port_; }

  void watch(bool wanted) override {
    if (wanted) refresh();
  }

  int wantReports(bool wanted) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->wantReports(client_, wanted);
  }

  void stop() override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (stopped_) return;
    stopped_ = true;
    state_->close(client_);
  }

 private:
  void refresh() {
    std::lock_guard<std::mutex> lock(state_->mutex);
    port_ = state_->ports[static_cast<size_t>(client_->port)].state;
  }

  const std::shared_ptr<FabricState> state_;
  const std::shared_ptr<Endpoint> client_;
  PortState port_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<MadTransport> makeTransport(std::shared_ptr<FabricState> state,
                                            std::shared_ptr<Endpoint> client) {
  return std::make_unique<EmbeddedTransport>(std::move(state), std::move(client));
}

}  // namespace rxib::embedded
