#include "bench/workload/weighted_sizes.hpp"

#include <algorithm>
#include <string>

#include "bench/workload/number.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kMostWeight = 1'000'000'000;

}  // namespace

runtime::Result<WeightedSizes> WeightedSizes::parse(std::string_view text, std::uint64_t most_bytes) {
  WeightedSizes sizes;
  std::uint64_t sum = 0;
  for (std::string_view rest = text; sum == 0 || !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    const std::size_t colon = entry.find(':');
    const auto bytes = parse_number(entry.substr(0, colon), most_bytes);
    const std::string_view weight_text =
        colon == std::string_view::npos ? std::string_view{} : entry.substr(colon + 1);
    const auto weight = parse_number(weight_text, kMostWeight);
    if (!bytes || *bytes == 0 || !weight) {
      return runtime::Error{"'" + std::string(entry) + "' is not BYTES:WEIGHT with 1 to " +
                            std::to_string(most_bytes) + " bytes, as in 100:3,1000:1"};
    }
    sum += *weight;
    sizes.add(*bytes, sum);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (rest.empty() && (sum == 0 || comma != std::string_view::npos)) {
      return runtime::Error{sum == 0 ? "'" + std::string(text) + "' has no weight above 0"
                                     : "'" + std::string(text) + "' ends with a comma"};
    }
  }
  return sizes;
}

void WeightedSizes::add(std::size_t bytes, std::uint64_t end) {
  if (end > (entries_.empty() ? 0 : entries_.back().end)) {
    entries_.push_back({bytes, end});
  }
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
