// The few functions of libibverbs.so.1 behind port events, with our own minimal declarations; a
// test compares them with the real ones where those are installed.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rdma/shared_library.h"

namespace rxib::rdma {

namespace abi {

struct VerbsDevice;

/** The public part of a device context; the operations between are none of our business. */
struct VerbsContext {
  VerbsDevice* device;
  void* operations[32];
  int commandFd;
  int asyncFd;
  int completionVectors;
  pthread_mutex_t mutex;
  void* abiCompat;  // all ones: this is the tail of a VerbsExtension
};

struct VerbsPort {
  int state;
  int maxMtu;
  int activeMtu;
  int gidTableLength;
  uint32_t capabilities;
  uint32_t maxMessageSize;
  uint32_t badPkeys;
  uint32_t qkeyViolations;
  uint16_t pkeyTableLength;
  uint16_t lid;
  uint16_t smLid;
  uint8_t lmc;
  uint8_t maxVl;
  uint8_t smSl;
  uint8_t subnetTimeout;
  uint8_t initTypeReply;
  uint8_t activeWidth;
  uint8_t activeSpeed;
  uint8_t physicalState;
  uint8_t linkLayer;
  uint8_t flags;
  uint16_t capabilities2;
};

constexpr uint8_t kVerbsPortNeedsGrh = 1;

/** What stands in front of an extended context. Operations were only ever added at its head. */
struct VerbsExtension {
  int (*queryPort)(VerbsContext* context, uint8_t port, VerbsPort* out, size_t size);
  void* otherOperations[25];
  void* priv;
  unsigned char more[96];
  size_t size;  // of all that the library knows of, the context included
  VerbsContext context;
};

struct VerbsEvent {
  union {
    void* object;
    int port;
  } element;
  int type;
};

enum VerbsEventType : int {
  kVerbsDeviceFatal = 8,
  kVerbsPortActive = 9,
  kVerbsPortError = 10,
  kVerbsLidChange = 11,
  kVerbsPkeyChange = 12,
  kVerbsSmChange = 13,
  kVerbsClientReregister = 17,
  kVerbsGidChange = 18,
};

}  // namespace abi

struct VerbsLibrary {
  abi::VerbsDevice** (*getDeviceList)(int* count);
  void (*freeDeviceList)(abi::VerbsDevice** list);
  const char* (*getDeviceName)(abi::VerbsDevice* device);
  abi::VerbsContext* (*openDevice)(abi::VerbsDevice* device);
  int (*closeDevice)(abi::VerbsContext* context);
  int (*getAsyncEvent)(abi::VerbsContext* context, abi::VerbsEvent* event);
  void (*acknowledge)(abi::VerbsEvent* event);
};

/** As umadLibrary(). */
std::shared_ptr<const VerbsLibrary> verbsLibrary(std::string& why);

/** Whether packets from this port need a GRH; false where the library cannot tell. */
bool verbsPortNeedsGrh(abi::VerbsContext* context, uint8_t port);

}  // namespace rxib::rdma
