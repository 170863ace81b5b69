#include "server/durability/key_ranges.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

KeyRanges::KeyRanges(std::vector<Sample> samples, std::uint64_t records) {
  std::sort(samples.begin(), samples.end());
  std::uint64_t weight = 0;
  for (const auto& [key, stands_for] : samples) {
    if (weight >= records && (splitters_.empty() || splitters_.back() < key)) {
      splitters_.push_back(key);
      weight = 0;
    }
    weight += stands_for;
  }
  common_ = splitters_.empty() ? 0 : index::common_prefix(splitters_.front(), splitters_.back());
  for (const std::string& splitter : splitters_) {
    heads_.push_back(index::head_of(splitter, common_));
  }
  for (std::size_t i = 0; i < size(); ++i) {
    // All keys between two splitters begin with the splitters' common bytes. At the ends nothing is known.
    shared_.push_back(i == 0 || i == splitters_.size() ? 0 : index::common_prefix(from(i), to(i)));
  }
  MXKV_ASSERT(heads_.size() == splitters_.size() && shared_.size() == splitters_.size() + 1,
              "there is one range more than splitters");
}

std::size_t KeyRanges::of(std::string_view key) const noexcept {
  if (splitters_.empty()) {
    return 0;
  }
  const std::string_view common = std::string_view{splitters_.front()}.substr(0, common_);
  if (const int place = key.substr(0, common_).compare(common); place != 0) {
    return place < 0 ? 0 : splitters_.size();
  }
  const std::uint64_t head = index::head_of(key, common_);
  auto at = static_cast<std::size_t>(std::upper_bound(heads_.begin(), heads_.end(), head) - heads_.begin());
  while (at > 0 && heads_[at - 1] == head && key < splitters_[at - 1]) {
    --at;
  }
  MXKV_DCHECK((at == 0 || splitters_[at - 1] <= key) && (at == splitters_.size() || key < splitters_[at]),
              "a key is in its range");
  return at;
}

}  // namespace mxkv::server
