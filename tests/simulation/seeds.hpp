// The seeds that a run goes through, from the environment:
//   MXKV_SIMULATION_SEEDS       how many (300, with MXKV_TEST_LONG=1 2000; with a sanitizer 40)
//   MXKV_SIMULATION_FIRST_SEED  the first one (0)
//   MXKV_SIMULATION_GO_ON       behind a seed that failed: each failure prints a line (0)
// A seed that failed is printed as the first two, which run it alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/sanitized.hpp"

namespace mxkv::simulation {

/// How many worlds a path may take to be met at all.
inline constexpr std::uint64_t kMostSeeds = 2000;
/// In fewer worlds the count of a rare event says nothing.
inline constexpr std::uint64_t kFewestToJudge = 300;

/// How many worlds a run goes through by default.
[[nodiscard]] inline std::uint64_t usual_seeds() {
  const char* const long_run = std::getenv("MXKV_TEST_LONG");
  return kSanitized
             ? 40
             : (long_run != nullptr && std::string_view{long_run} == "1" ? kMostSeeds : kFewestToJudge);
}

struct Seeds {
  std::uint64_t first = 0;
  std::uint64_t count = usual_seeds();
  bool go_on = false;

  [[nodiscard]] static Seeds from_environment() {
    const auto number = [](const char* variable, std::uint64_t otherwise) {
      const char* text = std::getenv(variable);
      return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
    };
    return {number("MXKV_SIMULATION_FIRST_SEED", 0), number("MXKV_SIMULATION_SEEDS", usual_seeds()),
            number("MXKV_SIMULATION_GO_ON", 0) != 0};
  }
  [[nodiscard]] static std::string alone(std::uint64_t seed) {
    return "MXKV_SIMULATION_SEEDS=1 MXKV_SIMULATION_FIRST_SEED=" + std::to_string(seed);
  }
};

}  // namespace mxkv::simulation
