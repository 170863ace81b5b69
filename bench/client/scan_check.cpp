#include "bench/client/scan_check.hpp"

#include <algorithm>
#include <array>

#include "bench/workload/java_text.hpp"

namespace mxkv::bench {

LoadedKeys::LoadedKeys(const WorkloadSpec& spec, KeyFormat format, ScanOrder order)
    : format_(format), order_(order), gaps_allowed_(spec.misses_expected()) {
  hashes_.reserve(spec.existing());
  for (std::uint64_t i = 0; i < spec.existing(); ++i) {
    hashes_.push_back(spec.key_number(spec.insert_start + i));
  }
  std::sort(hashes_.begin(), hashes_.end(),
            [this](std::uint64_t left, std::uint64_t right) { return before(left, right); });
}

std::int32_t LoadedKeys::score(std::uint64_t hash) const noexcept {
  std::array<char, KeyFormat::kMaxBytes> key;
  return java_hash({key.data(), format_.write(hash, key.data())});
}

bool LoadedKeys::before(std::uint64_t left, std::uint64_t right) const noexcept {
  if (order_ == ScanOrder::score) {
    const std::int32_t left_score = score(left);
    const std::int32_t right_score = score(right);
    if (left_score != right_score) {
      return left_score < right_score;
    }
  }
  return format_.before(left, right);
}

bool LoadedKeys::begins(std::uint64_t start, std::uint64_t first) const noexcept {
  return start == first || (order_ == ScanOrder::score && score(start) == score(first));
}

std::size_t LoadedKeys::find(std::uint64_t hash) const noexcept {
  const auto at =
      order_ == ScanOrder::key
          ? std::lower_bound(hashes_.begin(), hashes_.end(), hash,
                             [this](std::uint64_t left, std::uint64_t right) { return before(left, right); })
          : std::partition_point(
                hashes_.begin(), hashes_.end(),
                [this, wanted = score(hash)](std::uint64_t key) { return score(key) < wanted; });
  return static_cast<std::size_t>(at - hashes_.begin());
}

std::size_t LoadedKeys::count_prefix(std::string_view prefix) const noexcept {
  // Compare the first bytes of a key with the prefix: lesser keys come first, then equal ones.
  const auto compare = [this, prefix](std::uint64_t hash) {
    std::array<char, KeyFormat::kMaxBytes> key;
    return std::string_view(key.data(), format_.write(hash, key.data()))
        .substr(0, prefix.size())
        .compare(prefix);
  };
  const auto first = std::partition_point(hashes_.begin(), hashes_.end(),
                                          [&compare](std::uint64_t hash) { return compare(hash) < 0; });
  const auto end = std::partition_point(first, hashes_.end(),
                                        [&compare](std::uint64_t hash) { return compare(hash) == 0; });
  return static_cast<std::size_t>(end - first);
}

void ScanCheck::begin(const LoadedKeys& loaded, const Operation& scan) noexcept {
  *this = ScanCheck{};
  started_ = true;
  position_ = loaded.find(scan.key_hash);
}

void ScanCheck::accept(const LoadedKeys& loaded, const Operation& scan, std::uint64_t key_hash) noexcept {
  if (loaded.gaps_allowed()) {
    const std::uint64_t earlier = records_ == 0 ? scan.key_hash : last_hash_;
    const bool follows =
        loaded.before(earlier, key_hash) || (records_ == 0 && loaded.begins(scan.key_hash, key_hash));
    right_ = right_ && follows && records_ < scan.scan_length;
    last_hash_ = key_hash;
    ++records_;
    return;
  }
  const bool in_order =
      records_ == 0 ? loaded.begins(scan.key_hash, key_hash) : loaded.before(last_hash_, key_hash);
  bool nothing_skipped = true;
  if (position_ < loaded.size()) {
    if (loaded[position_] == key_hash) {
      ++position_;
    } else {
      nothing_skipped = loaded.before(key_hash, loaded[position_]);
    }
  }
  right_ = right_ && in_order && nothing_skipped && records_ < scan.scan_length;
  last_hash_ = key_hash;
  ++records_;
}

bool ScanCheck::finish(const LoadedKeys& loaded, const Operation& scan, bool more_remains) noexcept {
  started_ = false;
  const bool whole =
      loaded.gaps_allowed() || records_ == scan.scan_length || position_ == loaded.size() || more_remains;
  return right_ && records_ > 0 && whole;
}

}  // namespace mxkv::bench
