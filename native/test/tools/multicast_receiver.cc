// A queue pair that listens to a multicast group and says what it got: the independent proof that a
// membership carries data. It joins nothing itself, so it gets packets only while somebody else on
// this machine holds the membership. Built with the real headers of rdma-core.
//
//   multicast-receiver <device> <mgid> <qkey> <messages> <milliseconds>
//
// Prints "attached", then "received <messages> <bytes of the last one>". Exits 0 in either case.

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kSlots = 32;
constexpr int kSlotSize = 4096 + 40;  // a datagram and the header that stands before it

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

ibv_context* open(const char* name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(ibv_get_device_name(list[i]), name) != 0) continue;
    ibv_context* context = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    return context;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int wanted = std::atoi(argv[4]);
  const int milliseconds = std::atoi(argv[5]);
  ibv_gid group{};
  if (inet_pton(AF_INET6, argv[2], &group) != 1) return 2;

  ibv_context* context = open(argv[1]);
  if (context == nullptr) fail("ibv_open_device");
  ibv_pd* domain = ibv_alloc_pd(context);
  ibv_cq* completions = ibv_create_cq(context, kSlots, nullptr, nullptr, 0);
  if (domain == nullptr || completions == nullptr) fail("ibv_create_cq");
  std::vector<char> buffer(static_cast<size_t>(kSlots) * kSlotSize);
  ibv_mr* region = ibv_reg_mr(domain, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE);
  if (region == nullptr) fail("ibv_reg_mr");

  ibv_qp_init_attr make{};
  make.send_cq = completions;
  make.recv_cq = completions;
  make.cap = {1, kSlots, 1, 1, 0};
  make.qp_type = IBV_QPT_UD;
  ibv_qp* pair = ibv_create_qp(domain, &make);
  if (pair == nullptr) fail("ibv_create_qp");
  ibv_qp_attr change{};
  change.qp_state = IBV_QPS_INIT;
  change.port_num = 1;
  change.qkey = static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 0));
  if (ibv_modify_qp(pair, &change, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) !=
      0) {
    fail("to init");
  }
  change = {};
  change.qp_state = IBV_QPS_RTR;
  if (ibv_modify_qp(pair, &change, IBV_QP_STATE) != 0) fail("to ready-to-receive");
  for (int i = 0; i < kSlots; ++i) {
    ibv_sge place{reinterpret_cast<uintptr_t>(buffer.data() + i * kSlotSize), kSlotSize,
                  region->lkey};
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    receive.sg_list = &place;
    receive.num_sge = 1;
    if (ibv_post_recv(pair, &receive, &bad) != 0) fail("ibv_post_recv");
  }
  if (ibv_attach_mcast(pair, &group, 0) != 0) fail("ibv_attach_mcast");
  std::printf("attached\n");
  std::fflush(stdout);

  int received = 0;
  unsigned bytes = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (received < wanted && std::chrono::steady_clock::now() < end) {
    ibv_wc completion{};
    if (ibv_poll_cq(completions, 1, &completion) == 1 && completion.status == IBV_WC_SUCCESS) {
      ++received;
      bytes = completion.byte_len;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::printf("received %d %u\n", received, bytes);
  ibv_detach_mcast(pair, &group, 0);
  ibv_destroy_qp(pair);
  ibv_dereg_mr(region);
  ibv_destroy_cq(completions);
  ibv_dealloc_pd(domain);
  ibv_close_device(context);
  return 0;
}
