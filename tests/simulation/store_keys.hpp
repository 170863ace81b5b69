// The keys of a simulated store: a few with a history, and others between them, so that there are many
// leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/store_operation.hpp"

namespace mxkv::simulation {

/// Plain.
struct StoreKeys {
  /// `long_ones`: of 16 to 32 bytes, as keys usually are.
  StoreKeys(std::size_t count, std::size_t others_of_each, std::uint64_t number, bool long_ones = false)
      : begin_number(number), last_cas(count), greatest_cas(count) {
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back("key" + std::to_string(i) + (long_ones ? "-of-a-tenant:" : ":"));
      for (std::size_t n = 0; n < others_of_each; ++n) {
        others.push_back(names.back() + std::to_string(100 + n));
      }
    }
  }
  /// The index of a key with a history, else CommandLine::kOtherKey.
  [[nodiscard]] std::uint8_t index_of(std::string_view key) const {
    const auto at = std::find(names.begin(), names.end(), key);
    return at == names.end() ? CommandLine::kOtherKey : static_cast<std::uint8_t>(at - names.begin());
  }
  /// The state before anything is recorded.
  [[nodiscard]] KeyStates begin() const {
    KeyStates states;
    std::fill_n(states.begin(), names.size(), KeyState{true, 0, begin_number, 0});
    return states;
  }

  /// A client got this cas in a reply.
  void told(std::size_t key, std::uint64_t cas) {
    last_cas[key] = cas;
    greatest_cas[key] = std::max(greatest_cas[key], cas);
  }

  std::uint64_t begin_number;
  std::vector<std::string> names;  ///< in order
  std::vector<std::string> others;
  std::vector<std::uint64_t> last_cas;      ///< that some client got; 0: none did
  std::vector<std::uint64_t> greatest_cas;  ///< the same, of all
};

}  // namespace mxkv::simulation
