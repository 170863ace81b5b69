// Which of the paths that matter (runtime/base/paths.hpp) a simulation did not take.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/base/paths.hpp"

namespace mxkv::simulation {

/// The names of the paths of `wanted` that the calling thread has not taken since `before`.
[[nodiscard]] inline std::vector<std::string> never_taken(const runtime::paths::Counts& before,
                                                          std::initializer_list<runtime::path> wanted) {
  const runtime::paths::Counts now = runtime::paths::all();
  std::vector<std::string> names;
  for (const runtime::path which : wanted) {
    const auto i = static_cast<std::size_t>(which);
    if (now[i] == before[i]) {
      names.emplace_back(runtime::paths::kNames[i]);
    }
  }
  return names;
}

}  // namespace mxkv::simulation
