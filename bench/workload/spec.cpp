#include "bench/workload/spec.hpp"

#include <utility>

namespace mxkv::bench {

std::optional<Distribution> distribution_by_name(std::string_view name) noexcept {
  if (name == "uniform") {
    return Distribution::uniform;
  }
  if (name == "zipfian") {
    return Distribution::zipfian;
  }
  if (name == "latest") {
    return Distribution::latest;
  }
  return std::nullopt;
}

std::optional<Mix> mix_by_name(std::string_view name) noexcept {
  static constexpr std::array<std::pair<std::string_view, Mix>, 8> kMixes{{
      {"a", {.read = 0.5, .update = 0.5}},
      {"b", {.read = 0.95, .update = 0.05}},
      {"c", {.read = 1}},
      {"d", {.read = 0.95, .insert = 0.05, .distribution = Distribution::latest}},
      {"e", {.scan = 0.95, .insert = 0.05}},
      {"get", {.read = 1, .distribution = Distribution::uniform}},
      {"set", {.update = 1, .distribution = Distribution::uniform}},
      {"scan", {.scan = 1, .distribution = Distribution::uniform, .min_scan_length = 100}},
  }};
  for (const auto& [known, mix] : kMixes) {
    if (known == name) {
      return mix;
    }
  }
  return std::nullopt;
}

}  // namespace mxkv::bench
