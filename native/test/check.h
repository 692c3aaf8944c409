// A test registry and two checks: enough for these suites, and it builds wherever the addon does.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rxib::test {

struct Case {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registration {
  Registration(const char* name, std::function<void()> body) {
    cases().push_back({name, std::move(body)});
  }
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else if constexpr (std::is_same_v<T, unsigned char> || std::is_same_v<T, signed char>) {
    out << static_cast<int>(value);
  } else {
    out << value;
  }
  return out.str();
}

template <typename A, typename B>
void checkEqual(const A& actual, const B& expected, const char* text, const char* file, int line) {
  if (actual == expected) return;
  throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + text + " is " +
                show(actual) + ", expected " + show(expected));
}

/** Runs every case whose name contains argv[1] (or all), prints a closing count, returns 0 or 1. */
inline int runAll(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  int passed = 0;
  int failed = 0;
  for (const Case& test : cases()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    try {
      test.body();
      ++passed;
    } catch (const std::exception& error) {
      ++failed;
      std::printf("not ok  %s\n        %s\n", test.name, error.what());
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  // A suite that ran nothing has proved nothing.
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace rxib::test

#define RXIB_JOIN2(a, b) a##b
#define RXIB_JOIN(a, b) RXIB_JOIN2(a, b)
#define TEST(name)                                                          \
  static void RXIB_JOIN(test_, __LINE__)();                                 \
  static const rxib::test::Registration RXIB_JOIN(registration_, __LINE__){ \
      name, RXIB_JOIN(test_, __LINE__)};                                    \
  static void RXIB_JOIN(test_, __LINE__)()
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition))                                                                    \
      throw rxib::test::Failure(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                                ": " #condition);                                        \
  } while (false)
#define CHECK_EQ(actual, expected) \
  rxib::test::checkEqual((actual), (expected), #actual, __FILE__, __LINE__)
