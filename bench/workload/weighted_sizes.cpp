#include "bench/workload/weighted_sizes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kMostWeight = 1'000'000'000;

std::optional<std::uint64_t> number_up_to(std::string_view text, std::uint64_t most) noexcept {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failed == std::errc{} && end == text.data() + text.size();
  return whole && number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace

runtime::Result<WeightedSizes> WeightedSizes::parse(std::string_view text, std::uint64_t most_bytes) {
  WeightedSizes sizes;
  std::uint64_t sum = 0;
  for (std::string_view rest = text; sum == 0 || !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    const std::size_t colon = entry.find(':');
    const auto bytes = number_up_to(entry.substr(0, colon), most_bytes);
    const std::string_view weight_text =
        colon == std::string_view::npos ? std::string_view{} : entry.substr(colon + 1);
    const auto weight = number_up_to(weight_text, kMostWeight);
    if (!bytes || *bytes == 0 || !weight) {
      return runtime::Error{"'" + std::string(entry) + "' is not BYTES:WEIGHT with 1 to " +
                            std::to_string(most_bytes) + " bytes, as in 100:3,1000:1"};
    }
    sum += *weight;
    if (*weight > 0) {
      sizes.entries_.push_back({*bytes, sum});
    }
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (rest.empty() && (sum == 0 || comma != std::string_view::npos)) {
      return runtime::Error{sum == 0 ? "'" + std::string(text) + "' has no weight above 0"
                                     : "'" + std::string(text) + "' ends with a comma"};
    }
  }
  return sizes;
}

std::size_t WeightedSizes::bytes_of(std::uint64_t draw) const noexcept {
  const auto found = std::ranges::find_if(entries_, [draw](const Entry& entry) { return draw < entry.end; });
  return found == entries_.end() ? entries_.back().bytes : found->bytes;
}

std::size_t WeightedSizes::least_bytes() const noexcept {
  return std::ranges::min_element(entries_, {}, &Entry::bytes)->bytes;
}

std::size_t WeightedSizes::most_bytes() const noexcept {
  return std::ranges::max_element(entries_, {}, &Entry::bytes)->bytes;
}

}  // namespace mxkv::bench
