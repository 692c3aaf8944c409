// The peer of the OpenSM measurement: a plain client on libibumad with one thread, a window of
// requests and nothing else. No retries, no state machine: the speed of the wire and of the subnet
// manager.
//
//   umad-peer DEVICE PORT SM_LID PORT_GID_HEX WINDOW COUNT [DESTINATION_GID_HEX]
//
// For each line of its input it joins so many groups, leaves them, and prints a line of JSON. With a
// destination it asks so many times for the path there instead.

#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Of libibumad, whose development package need not be there.
int umad_init(void);
int umad_open_port(const char* device, int port);
int umad_close_port(int port);
int umad_register(int port, int class, int version, uint8_t rmpp, long mask[]);
int umad_unregister(int port, int agent);
size_t umad_size(void);
void* umad_get_mad(void* umad);
int umad_status(void* umad);
int umad_set_addr(void* umad, int lid, int qp, int sl, int qkey);
int umad_set_pkey(void* umad, int index);
int umad_send(int port, int agent, void* umad, int length, int timeout, int retries);
int umad_recv(int port, void* umad, int* length, int timeout);

enum { MAD_SIZE = 256, SET = 0x02, GET_TABLE = 0x12, DELETE = 0x15, ANSWER_TIMEOUT = 3000 };
enum { MC_MEMBER_RECORD = 0x38, PATH_RECORD = 0x35 };

static const uint64_t JOIN_MASK = 0x130c7;   // what creates a group
static const uint64_t LEAVE_MASK = 0x10003;  // MGID, PortGID, JoinState
static const uint64_t PATH_MASK = 0xc;       // DGID, SGID

static int port;
static int agent;
static int sm_lid;
static uint8_t port_gid[16];
static uint8_t destination[16];
static void* buffer;
static uint32_t next_transaction;
static double* sent_at;
static double* latency;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void die(const char* what) {
  fprintf(stderr, "umad-peer: %s failed\n", what);
  exit(1);
}

static void put(uint8_t* to, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i, value >>= 8) to[i] = (uint8_t)value;
}

static void read_gid(const char* text, uint8_t* gid) {
  for (int i = 0; i < 16; ++i) {
    unsigned byte = 0;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) die("reading a GID");
    gid[i] = (uint8_t)byte;
  }
}

static void put_membership(uint8_t* mad, int method, uint32_t group) {
  put(mad + 16, MC_MEMBER_RECORD, 2);
  put(mad + 48, method == SET ? JOIN_MASK : LEAVE_MASK, 8);
  uint8_t* record = mad + 56;
  record[0] = 0xff;
  record[1] = 0x12;
  record[2] = 0xbe;
  put(record + 12, group + 1, 4);
  memcpy(record + 16, port_gid, 16);
  if (method == SET) {
    put(record + 32, 0xb1b, 4);
    put(record + 40, 0xffff, 2);
  }
  record[48] = 1;
}

static void put_path(uint8_t* mad) {
  put(mad + 16, PATH_RECORD, 2);
  put(mad + 48, PATH_MASK, 8);
  memcpy(mad + 64, destination, 16);
  memcpy(mad + 80, port_gid, 16);
}

static void send_request(int method, uint32_t group, uint32_t transaction) {
  memset(buffer, 0, umad_size() + MAD_SIZE);
  uint8_t* mad = umad_get_mad(buffer);
  mad[0] = 1;
  mad[1] = 3;
  mad[2] = 2;
  mad[3] = (uint8_t)method;
  put(mad + 12, transaction, 4);
  if (method == GET_TABLE) {
    put_path(mad);
  } else {
    put_membership(mad, method, group);
  }
  umad_set_addr(buffer, sm_lid, 1, 0, (int)0x80010000);
  umad_set_pkey(buffer, 0);
  if (umad_send(port, agent, buffer, MAD_SIZE, ANSWER_TIMEOUT, 0) < 0) die("umad_send");
}

static int by_value(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

/** Requests per second. */
static double run(int method, uint32_t groups, uint32_t window) {
  const uint32_t first = next_transaction;
  next_transaction += groups;
  uint32_t sent = 0;
  uint32_t answered = 0;
  const double start = now();
  while (answered < groups) {
    while (sent < groups && sent - answered < window) {
      sent_at[sent] = now();
      send_request(method, sent, first + sent);
      ++sent;
    }
    int length = MAD_SIZE;
    if (umad_recv(port, buffer, &length, ANSWER_TIMEOUT) < 0) die("umad_recv");
    const uint8_t* mad = umad_get_mad(buffer);
    const uint32_t transaction = (uint32_t)mad[12] << 24 | (uint32_t)mad[13] << 16 |
                                 (uint32_t)mad[14] << 8 | (uint32_t)mad[15];
    const uint32_t index = transaction - first;
    if (index >= groups) continue;
    if (umad_status(buffer) != 0 || mad[4] != 0 || mad[5] != 0) die("a request");
    latency[index] = now() - sent_at[index];
    ++answered;
  }
  const double rate = groups / (now() - start);
  qsort(latency, groups, sizeof *latency, by_value);
  return rate;
}

int main(int argc, char** argv) {
  if (argc != 7 && argc != 8) {
    fprintf(stderr, "usage: umad-peer DEVICE PORT SM_LID PORT_GID_HEX WINDOW COUNT [GID_HEX]\n");
    return 2;
  }
  sm_lid = atoi(argv[3]);
  read_gid(argv[4], port_gid);
  if (argc == 8) read_gid(argv[7], destination);
  const uint32_t window = (uint32_t)atoi(argv[5]);
  const uint32_t groups = (uint32_t)atoi(argv[6]);
  sent_at = calloc(groups, sizeof *sent_at);
  latency = calloc(groups, sizeof *latency);
  if (sent_at == NULL || latency == NULL) die("calloc");
  if (umad_init() < 0) die("umad_init");
  // The simulator writes somewhat more than it is asked for.
  buffer = calloc(1, umad_size() + 4 * MAD_SIZE);
  if (buffer == NULL) die("calloc");
  port = umad_open_port(argv[1], atoi(argv[2]));
  if (port < 0) die("umad_open_port");
  agent = umad_register(port, 3, 2, 1, NULL);
  if (agent < 0) die("umad_register");
  next_transaction = (uint32_t)time(NULL) << 8;
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (argc == 8) {
      printf("{\"pathsPerSecond\":%.1f}\n", run(GET_TABLE, groups, window));
      fflush(stdout);
      continue;
    }
    const double joins = run(SET, groups, window);
    const double p50 = latency[groups / 2];
    const double p99 = latency[groups * 99 / 100];
    const double leaves = run(DELETE, groups, window);
    printf(
        "{\"joinsPerSecond\":%.1f,\"leavesPerSecond\":%.1f,\"p50Us\":%.1f,\"p99Us\":%.1f}\n",
        joins, leaves, p50 * 1e6, p99 * 1e6);
    fflush(stdout);
  }
  umad_unregister(port, agent);
  umad_close_port(port);
  return 0;
}
