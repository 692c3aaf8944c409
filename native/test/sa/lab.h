// SA clients on an embedded fabric.
#pragma once

#include <memory>

#include "embedded/fabric.h"
#include "sa/client.h"
#include "sa/world.h"

namespace rxib::test {

/** A fabric and SA clients on its ports, under one clock. */
struct Lab {
  struct Port final : Machine {
    Port(Lab& lab, int index, const sa::Options& options)
        : owner(lab), transport(lab.fabric.open(index)), client(*transport, options, stats) {
      transport->start(slot);
      client.attach(&sink);
      owner.driver.add(slot, *this);
    }
    ~Port() override {
      owner.driver.remove(slot);
      transport->stop();
    }
    Instant run(Instant now) override { return client.run(now); }
    void ask(HandleId id, const AskSpec& spec) {
      client.ask(owner.driver.now(), id, spec, &sink);
      slot.wake();
      owner.driver.advance(Duration{0});
    }
    void free(HandleId id) {
      client.free(owner.driver.now(), id);
      slot.wake();
      owner.driver.advance(Duration{0});
    }

    Lab& owner;
    PortStats stats;
    RecordingSink sink;
    std::unique_ptr<MadTransport> transport;
    sa::Client client;
    ManualDriver::Slot slot;
  };

  explicit Lab(embedded::FabricOptions fabricOptions = {}, sa::Options options = quietOptions())
      : fabric(fabricOptions) {
    driver.add(slot, fabric);
    fabric.setWaker(&slot);
    a = std::make_unique<Port>(*this, 0, options);
    b = std::make_unique<Port>(*this, 1, options);
  }
  ~Lab() {
    a.reset();
    b.reset();
    fabric.setWaker(nullptr);
    driver.remove(slot);
  }
  Gid gid(int port) { return fabric.ports()[static_cast<size_t>(port)].state.gid; }

  ManualDriver driver;
  embedded::Fabric fabric;
  ManualDriver::Slot slot;
  std::unique_ptr<Port> a;
  std::unique_ptr<Port> b;
};

}  // namespace rxib::test
