// A client on a strict fake, and what it told.
#pragma once

#include <string>
#include <vector>

#include "check.h"
#include "core/status.h"
#include "rdmacm/client.h"
#include "rdmacm/strict_fake_rdmacm.h"

namespace rxib::test {

inline Gid ipGroup(const std::string& text) { return rdmacm::SocketAddress::parse(text)->asGid(); }

struct Recorder final : CompletionSink {
  void complete(Completion completion) override { completions.push_back(std::move(completion)); }
  void diagnose(const Diagnostic& diagnostic) override { diagnostics.push_back(diagnostic); }
  void settled() override { ++settlements; }

  std::vector<Completion> completions;
  std::vector<Diagnostic> diagnostics;
  int settlements = 0;
};

struct NoWaker final : Waker {
  void wake() override {}
};

/** One device and one client, which the test itself runs. */
class CmWorld {
 public:
  explicit CmWorld(LinkLayer layer = LinkLayer::kEthernet,
                   const std::vector<std::string>& addresses = {"10.0.0.1"}, uint16_t pkey = 0) {
    fake.addDevice("rxe0", layer, addresses, pkey);
  }
  ~CmWorld() { client.reset(); }

  void open(rdmacm::Options options = {}) {
    options.device = "rxe0";
    client = std::make_unique<rdmacm::Client>(fake.system(), options, stats);
    const rdmacm::Verdict verdict = client->open();
    CHECK_EQ(verdict.status, int{kOk});
    client->attach(&sink);
    client->watch(waker);
  }
  void start() {
    if (client == nullptr) open();
  }

  HandleId join(const JoinSpec& spec) {
    start();
    ++stats.joinsStarted;
    ++stats.handlesAlive;
    client->join(++last, spec, &sink);
    return last;
  }
  HandleId join(const std::string& group, uint8_t state = kFullMember) {
    JoinSpec spec;
    spec.group = ipGroup(group);
    spec.record.joinState = state;
    return join(spec);
  }
  HandleId joinMgid(const Gid& mgid) {
    JoinSpec spec;
    spec.record.mgid = mgid;
    spec.record.joinState = kFullMember;
    return join(spec);
  }
  bool free(HandleId id) {
    ++stats.handlesFreed;
    --stats.handlesAlive;
    return client->free(id);
  }
  void run() {
    client->takeEvents();
    client->takePortReports();
  }
  HandleId member(const std::string& group) {
    const HandleId id = join(group);
    run();
    CHECK_EQ(latest().status, 0);
    return id;
  }
  const Completion& latest() const {
    CHECK(!sink.completions.empty());
    return sink.completions.back();
  }
  /** Everything is closed, and nothing went wrong on the way. */
  void finish() {
    client.reset();
    for (const std::string& violation : fake.violations()) throw Failure(violation);
    CHECK_EQ(fake.identifiers(), size_t{0});
    CHECK_EQ(fake.channels(), size_t{0});
  }

  StrictFakeRdmaCm fake;
  PortStats stats;
  Recorder sink;
  NoWaker waker;
  std::unique_ptr<rdmacm::Client> client;
  HandleId last = 0;
};

}  // namespace rxib::test
