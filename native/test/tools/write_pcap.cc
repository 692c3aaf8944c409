// Writes MADs of our codec for an independent reader: a pcap of InfiniBand packets, and the values
// that went into them as JSON.
//
//   write-pcap <seed> <count> <file.pcap> <file.json>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "codec/byte_order.h"
#include "codec/mad.h"
#include "codec/mc_member_record.h"

namespace {

using namespace rxib;

// Readers know InfiniBand inside the records of a capture card rather than as a link type.
constexpr uint32_t kLinkTypeErf = 197;
constexpr uint8_t kErfInfiniBand = 21;
constexpr size_t kErfHeader = 16;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  /** Now and then all zeros or all ones, where errors of width and place show. */
  uint64_t bits(unsigned count) {
    const uint64_t ones = count >= 64 ? ~0ull : (1ull << count) - 1;
    switch (engine_() % 8) {
      case 0:
        return 0;
      case 1:
        return ones;
      default:
        return engine_() & ones;
    }
  }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + engine_() % values.size());
  }

 private:
  std::mt19937_64 engine_;
};

struct Sample {
  codec::SaMad mad;
  McMemberRecord record;
};

Sample sample(Dice& dice) {
  Sample made;
  McMemberRecord& record = made.record;
  for (uint8_t& byte : record.mgid.bytes) byte = static_cast<uint8_t>(dice.bits(8));
  for (uint8_t& byte : record.portGid.bytes) byte = static_cast<uint8_t>(dice.bits(8));
  record.qkey = static_cast<uint32_t>(dice.bits(32));
  record.mlid = static_cast<uint16_t>(dice.bits(16));
  record.mtuSelector = static_cast<uint8_t>(dice.bits(2));
  record.mtu = static_cast<uint8_t>(dice.bits(6));
  record.trafficClass = static_cast<uint8_t>(dice.bits(8));
  record.pkey = static_cast<uint16_t>(dice.bits(16));
  record.rateSelector = static_cast<uint8_t>(dice.bits(2));
  record.rate = static_cast<uint8_t>(dice.bits(6));
  record.packetLifeTimeSelector = static_cast<uint8_t>(dice.bits(2));
  record.packetLifeTime = static_cast<uint8_t>(dice.bits(6));
  record.sl = static_cast<uint8_t>(dice.bits(4));
  record.flowLabel = static_cast<uint32_t>(dice.bits(20));
  record.hopLimit = static_cast<uint8_t>(dice.bits(8));
  record.scope = static_cast<uint8_t>(dice.bits(4));
  record.joinState = static_cast<uint8_t>(dice.bits(4));
  record.proxyJoin = dice.bits(1) != 0;
  codec::SaMad& mad = made.mad;
  mad.method = static_cast<uint8_t>(
      dice.pick({codec::SaMethod::kGet, codec::SaMethod::kSet, codec::SaMethod::kDelete,
                 codec::SaMethod::kGetResp, codec::SaMethod::kDeleteResp}));
  mad.status = dice.pick<uint16_t>({codec::kSaOk, codec::kSaBusy, codec::kSaNoResources,
                                    codec::kSaReqInvalid, codec::kSaInsufficientComponents});
  mad.transactionId = dice.bits(64);
  mad.attributeId = static_cast<uint16_t>(codec::SaAttribute::kMcMemberRecord);
  mad.attributeModifier = static_cast<uint32_t>(dice.bits(32));
  mad.smKey = dice.bits(64);
  mad.attributeOffset = dice.pick<uint16_t>({0, 7});
  mad.componentMask = dice.bits(18);
  codec::packMcMemberRecord(record, mad.data.data());
  return made;
}

/** The card's header; then LRH, BTH, DETH, the MAD, and the two checksums, which the reader does
 * not verify. */
std::vector<uint8_t> packet(const codec::MadBytes& mad) {
  std::vector<uint8_t> bytes(kErfHeader + 8 + 12 + 8, 0);
  uint8_t* lrh = bytes.data() + kErfHeader;
  lrh[1] = 0x02;  // next comes a BTH
  codec::write16(lrh + 2, 1);
  codec::write16(lrh + 4, static_cast<uint16_t>((8 + 12 + 8 + mad.size() + 4) / 4));
  codec::write16(lrh + 6, 3);
  uint8_t* bth = lrh + 8;
  bth[0] = 0x64;  // UD send only
  codec::write16(bth + 2, 0xffff);
  codec::write32(bth + 4, 1);
  uint8_t* deth = bth + 12;
  codec::write32(deth, 0x80010000);
  codec::write32(deth + 4, 1);
  bytes.insert(bytes.end(), mad.begin(), mad.end());
  bytes.resize(bytes.size() + 4 + 2, 0);
  bytes[8] = kErfInfiniBand;
  bytes[9] = 4;  // records of varying length
  codec::write16(bytes.data() + 10, static_cast<uint16_t>(bytes.size()));
  codec::write16(bytes.data() + 14, static_cast<uint16_t>(bytes.size() - kErfHeader));
  return bytes;
}

void put32(std::FILE* file, uint32_t value) {
  uint8_t bytes[4];
  codec::write32(bytes, value);
  std::fwrite(bytes, 1, sizeof bytes, file);
}

std::string hexOf(const Gid& gid) {
  std::string text;
  char digits[3];
  for (const uint8_t byte : gid.bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

void writeJson(std::FILE* file, const Sample& one) {
  const codec::SaMad& mad = one.mad;
  const McMemberRecord& record = one.record;
  // 64-bit numbers as text, for JSON readers keep only 53 bits.
  std::fprintf(file,
               "{\"method\":%u,\"status\":%u,\"transactionId\":\"%" PRIu64
               "\",\"attributeId\":%u,\"attributeModifier\":%u,\"smKey\":\"%" PRIu64
               "\",\"attributeOffset\":%u,\"componentMask\":\"%" PRIu64 "\",",
               mad.method, mad.status, mad.transactionId, mad.attributeId, mad.attributeModifier,
               mad.smKey, mad.attributeOffset, mad.componentMask);
  std::fprintf(file,
               "\"mgid\":\"%s\",\"portGid\":\"%s\",\"qkey\":%u,\"mlid\":%u,\"mtuSelector\":%u,"
               "\"mtu\":%u,\"trafficClass\":%u,\"pkey\":%u,\"rateSelector\":%u,\"rate\":%u,",
               hexOf(record.mgid).c_str(), hexOf(record.portGid).c_str(), record.qkey, record.mlid,
               record.mtuSelector, record.mtu, record.trafficClass, record.pkey,
               record.rateSelector, record.rate);
  std::fprintf(file,
               "\"packetLifeTimeSelector\":%u,\"packetLifeTime\":%u,\"sl\":%u,\"flowLabel\":%u,"
               "\"hopLimit\":%u,\"scope\":%u,\"joinState\":%u,\"proxyJoin\":%u}",
               record.packetLifeTimeSelector, record.packetLifeTime, record.sl, record.flowLabel,
               record.hopLimit, record.scope, record.joinState, record.proxyJoin ? 1u : 0u);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: write-pcap <seed> <count> <file.pcap> <file.json>\n");
    return 2;
  }
  Dice dice(std::strtoull(argv[1], nullptr, 0));
  const long count = std::strtol(argv[2], nullptr, 0);
  std::FILE* pcap = std::fopen(argv[3], "wb");
  std::FILE* json = std::fopen(argv[4], "wb");
  if (pcap == nullptr || json == nullptr) {
    std::perror("write-pcap");
    return 1;
  }
  for (const uint32_t word : {0xa1b2c3d4u, 0x00020004u, 0u, 0u, 65535u, kLinkTypeErf}) {
    put32(pcap, word);
  }
  std::fputs("[", json);
  for (long i = 0; i < count; ++i) {
    const Sample one = sample(dice);
    codec::MadBytes mad;
    codec::packSaMad(one.mad, mad);
    const std::vector<uint8_t> bytes = packet(mad);
    const auto length = static_cast<uint32_t>(bytes.size());
    for (const uint32_t word : {0u, static_cast<uint32_t>(i), length, length}) put32(pcap, word);
    std::fwrite(bytes.data(), 1, bytes.size(), pcap);
    std::fputs(i == 0 ? "\n" : ",\n", json);
    writeJson(json, one);
  }
  std::fputs("\n]\n", json);
  return std::fclose(pcap) == 0 && std::fclose(json) == 0 ? 0 : 1;
}
