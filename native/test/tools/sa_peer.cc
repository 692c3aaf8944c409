// Puts requests to a subnet administrator one at a time, without an SA client in between: what the
// conformance suite (marble-tests/conformance) speaks through.
//
//   sa-peer umad                              the first port that libibumad finds
//   sa-peer embedded <mlids> <port>...        a fabric in this process; each port is its rate code
//                                             and its P_Keys, such as 3:ffff,8001
//
// It begins with a line "port <index> <lid> <gid>" for every port, then "ready". Each line of input
// is "<port index> <timeout in ms> <MAD>"; each is answered by one line, the answer's MAD or
// "silence". MADs and GIDs are hexadecimal. Ends with its input.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "codec/mad.h"
#include "core/machine.h"
#include "core/mad_transport.h"
#include "embedded/fabric.h"
#ifdef __linux__
#include "umad/umad_transport.h"
#endif

namespace {

using namespace rxib;

constexpr uint8_t kResponseBit = 0x80;

struct Question {
  size_t port = 0;
  Duration timeout{0};
  codec::MadBytes mad{};
};

std::optional<uint64_t> parseHex(const std::string& text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 16);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

std::optional<Question> parseQuestion(const std::string& line) {
  std::istringstream words(line);
  Question question;
  int64_t milliseconds = 0;
  std::string mad;
  if (!(words >> question.port >> milliseconds >> mad) || mad.size() != 2 * codec::kMadSize) {
    return std::nullopt;
  }
  question.timeout = std::chrono::milliseconds{milliseconds};
  for (size_t i = 0; i < codec::kMadSize; ++i) {
    const auto byte = parseHex(mad.substr(2 * i, 2));
    if (!byte) return std::nullopt;
    question.mad[i] = static_cast<uint8_t>(*byte);
  }
  return question;
}

template <typename Bytes>
std::string hexOf(const Bytes& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

/** The low half alone: the transport owns the rest. */
uint32_t transactionOf(const uint8_t* bytes, size_t length) {
  uint64_t id = 0;
  codec::readTransactionId(bytes, length, id);
  return static_cast<uint32_t>(id);
}

/**
 * Asks on its ports and prints the answers. ask() may be called by another thread than the one that
 * runs the machine, which sends, receives and prints.
 */
class Peer final : public Machine, private MadTransport::Listener {
 public:
  explicit Peer(std::vector<std::unique_ptr<MadTransport>> ports) : ports_(std::move(ports)) {}

  void start(Waker& waker) {
    for (const auto& port : ports_) port->start(waker);
    for (size_t i = 0; i < ports_.size(); ++i) {
      const PortState& state = ports_[i]->port();
      std::printf("port %zu %u %s\n", i, state.lid, hexOf(state.gid.bytes).c_str());
    }
    std::printf("ready\n");
    std::fflush(stdout);
  }

  void stop() {
    for (const auto& port : ports_) port->stop();
  }

  size_t portCount() const { return ports_.size(); }

  void ask(const Question& question) {
    std::lock_guard<std::mutex> lock(mutex_);
    asked_ = question;
  }

  /** For the thread that asks: waits until the question has been answered. */
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [this] { return !asked_; });
  }

  Instant run(Instant now) override {
    if (!deadline_) begin(now);
    Instant next = kNever;
    for (const auto& port : ports_) next = std::min(next, port->poll(now, *this));
    if (deadline_ && now >= *deadline_) finish("silence");
    return deadline_ ? std::min(next, *deadline_) : next;
  }

 private:
  void begin(Instant now) {
    std::optional<Question> question;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      question = asked_;
    }
    if (!question) return;
    MadTransport& port = *ports_[question->port];
    awaited_ = transactionOf(question->mad.data(), question->mad.size());
    deadline_ = after(now, question->timeout);
    const int sent =
        port.send(question->mad, port.port().smLid, port.port().smSl, question->timeout);
    if (sent != kOk) finish("failed " + std::to_string(sent));
  }

  void onMad(const ReceivedMad& mad) override {
    // A sender is also told of its own requests that were not answered; those are no answers.
    if (!deadline_ || mad.bytes.size() <= codec::kMadHeaderSize ||
        (mad.bytes[3] & kResponseBit) == 0 ||
        transactionOf(mad.bytes.data(), mad.bytes.size()) != awaited_) {
      return;
    }
    finish(hexOf(mad.bytes));
  }

  void onPortEvent(const PortEvent&) override {}

  void finish(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    deadline_.reset();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      asked_.reset();
    }
    condition_.notify_one();
  }

  const std::vector<std::unique_ptr<MadTransport>> ports_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::optional<Question> asked_;  // until it is answered

  // Of the thread that runs the machine.
  std::optional<Instant> deadline_;
  uint32_t awaited_ = 0;
};

/** Calls `answer` with every question of the input; false where a line is none. */
template <typename Answer>
bool forEachQuestion(size_t ports, Answer answer) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto question = parseQuestion(line);
    if (!question || question->port >= ports) {
      std::fprintf(stderr, "no question: %s\n", line.c_str());
      return false;
    }
    answer(*question);
  }
  return true;
}

#ifdef __linux__
int serveUmad() {
  const umad::Discovery discovery = umad::discover();
  if (discovery.ports.empty()) {
    std::fprintf(stderr, "%d %s\n", discovery.status, discovery.message.c_str());
    return 1;
  }
  const PortInfo& first = discovery.ports.front();
  umad::Opened opened = umad::open(first.device, first.port, {});
  if (opened.transport == nullptr) {
    std::fprintf(stderr, "%d %s\n", opened.status, opened.message.c_str());
    return 1;
  }
  std::vector<std::unique_ptr<MadTransport>> ports;
  ports.push_back(std::move(opened.transport));
  Peer peer(std::move(ports));
  ThreadDriver driver(peer);
  peer.start(driver);
  driver.start();
  const bool wellFormed = forEachQuestion(peer.portCount(), [&](const Question& question) {
    peer.ask(question);
    driver.wake();
    peer.wait();
  });
  driver.stop();
  peer.stop();
  return wellFormed ? 0 : 2;
}
#endif

struct PortOfFabric {
  uint8_t rate = 0;
  std::vector<uint16_t> pkeys;
};

std::optional<PortOfFabric> parsePort(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  PortOfFabric port;
  port.rate = static_cast<uint8_t>(std::atoi(text.substr(0, colon).c_str()));
  std::istringstream keys(text.substr(colon + 1));
  for (std::string key; std::getline(keys, key, ',');) {
    const auto value = parseHex(key);
    if (!value) return std::nullopt;
    port.pkeys.push_back(static_cast<uint16_t>(*value));
  }
  return port;
}

int serveEmbedded(uint32_t mlids, const std::vector<PortOfFabric>& wanted) {
  embedded::FabricOptions options;
  options.ports = static_cast<int>(wanted.size());
  options.mlidPool = mlids;
  // The simulator's wire carries one MAD of a table, so that is what can be compared.
  options.rmpp = false;
  embedded::Fabric fabric(options);
  for (int i = 0; i < options.ports; ++i) {
    const PortOfFabric& port = wanted[static_cast<size_t>(i)];
    fabric.setPkeys(i, port.pkeys);
    fabric.setPortLimits(i, options.mtu, port.rate);
  }
  std::vector<std::unique_ptr<MadTransport>> ports;
  for (int i = 0; i < options.ports; ++i) ports.push_back(fabric.open(i));
  Peer peer(std::move(ports));
  ManualDriver driver;
  ManualDriver::Slot fabricSlot;
  ManualDriver::Slot peerSlot;
  driver.add(fabricSlot, fabric);
  driver.add(peerSlot, peer);
  fabric.setWaker(&fabricSlot);
  peer.start(peerSlot);
  const bool wellFormed = forEachQuestion(peer.portCount(), [&](const Question& question) {
    peer.ask(question);
    peerSlot.wake();
    driver.advance(question.timeout);
  });
  peer.stop();
  fabric.setWaker(nullptr);
  return wellFormed ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
#ifdef __linux__
  if (words.size() == 1 && words[0] == "umad") return serveUmad();
#endif
  std::vector<PortOfFabric> ports;
  for (size_t i = 2; i < words.size(); ++i) {
    if (auto port = parsePort(words[i])) ports.push_back(std::move(*port));
  }
  if (words.size() < 3 || words[0] != "embedded" || ports.size() != words.size() - 2) {
    std::fprintf(stderr,
                 "usage: sa-peer umad | embedded <mlids> <rate code>:<P_Key>,<P_Key>... ...\n");
    return 2;
  }
  return serveEmbedded(static_cast<uint32_t>(std::atoi(words[1].c_str())), ports);
}
