// Runs a fuzz target without libFuzzer: replays a corpus, then mutates it at random from a seed. It
// takes the few options of libFuzzer that the scripts here use, so that either can stand in.
//
// -seed=N -runs=N -max_total_time=SECONDS -max_len=N -artifact_prefix=PATH <files and folders>...
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

std::string artifact = "./";
Input current;

void saveAndAbort() {
  const std::string path = artifact + "crash";
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(current.data()),
            static_cast<std::streamsize>(current.size()));
  out.close();
  std::fprintf(stderr, "the input that did it: %s\n", path.c_str());
  if (std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
    }
  }
  std::abort();
}

void runOnce(const Input& input) {
  current = input;
  // A copy without slack, so that a sanitizer sees a read beyond its end.
  const auto exact = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

Input mutate(const std::vector<Input>& corpus, std::mt19937_64& random, size_t most) {
  auto below = [&random](size_t limit) { return limit == 0 ? 0 : random() % limit; };
  Input input = corpus[below(corpus.size())];
  for (size_t changes = 1 + below(8); changes > 0; --changes) {
    const size_t at = below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(5)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        if (at < input.size()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 2: {
        const size_t count = 1 + below(16);
        Input more(count);
        for (uint8_t& byte : more) byte = static_cast<uint8_t>(random());
        input.insert(place, more.begin(), more.end());
        break;
      }
      case 3:
        input.erase(place, place + static_cast<std::ptrdiff_t>(below(input.size() - at + 1)) / 4);
        break;
      default: {
        const Input& other = corpus[below(corpus.size())];
        const size_t from = below(other.size() + 1);
        const size_t count = below(other.size() - from + 1);
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        const Input piece(begin, begin + static_cast<std::ptrdiff_t>(count));
        input.insert(place, piece.begin(), piece.end());
      }
    }
  }
  if (input.size() > most) input.resize(most);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(saveAndAbort);
  uint64_t seed = 1;
  uint64_t runs = UINT64_MAX;
  size_t most = 4096;
  auto limit = std::chrono::steady_clock::time_point::max();
  std::vector<Input> corpus{Input{}};
  bool search = false;  // single inputs are only tried again
  auto value = [](const char* word, const char* name) -> const char* {
    const size_t length = std::strlen(name);
    return std::strncmp(word, name, length) == 0 ? word + length : nullptr;
  };
  auto read = [&corpus](const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  };
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (const char* number = value(word, "-seed=")) {
      seed = std::strtoull(number, nullptr, 10);
    } else if (const char* count = value(word, "-runs=")) {
      runs = std::strtoull(count, nullptr, 10);
    } else if (const char* length = value(word, "-max_len=")) {
      most = std::strtoull(length, nullptr, 10);
    } else if (const char* path = value(word, "-artifact_prefix=")) {
      artifact = path;
    } else if (const char* seconds = value(word, "-max_total_time=")) {
      limit = std::chrono::steady_clock::now() +
              std::chrono::seconds{std::strtoll(seconds, nullptr, 10)};
    } else if (argv[i][0] == '-') {
      continue;  // an option of libFuzzer alone
    } else if (std::filesystem::is_directory(argv[i])) {
      search = true;
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) read(entry.path());
    } else {
      read(argv[i]);
    }
  }
  uint64_t done = 0;
  for (const Input& input : corpus) {
    runOnce(input);
    ++done;
  }
  std::mt19937_64 random(seed);
  while (search && done < runs && std::chrono::steady_clock::now() < limit) {
    runOnce(mutate(corpus, random, most));
    ++done;
  }
  std::printf("Done %llu runs\n", static_cast<unsigned long long>(done));
  return 0;
}
