#include "bench/client/scan_check.hpp"

#include <algorithm>

namespace mxkv::bench {

LoadedKeys::LoadedKeys(const WorkloadSpec& spec, KeyFormat format) : format_(format) {
  hashes_.reserve(spec.existing());
  for (std::uint64_t i = 0; i < spec.existing(); ++i) {
    hashes_.push_back(spec.key_number(spec.insert_start + i));
  }
  std::sort(hashes_.begin(), hashes_.end(),
            [this](std::uint64_t left, std::uint64_t right) { return format_.before(left, right); });
}

std::size_t LoadedKeys::find(std::uint64_t hash) const noexcept {
  const auto at = std::lower_bound(
      hashes_.begin(), hashes_.end(), hash,
      [this](std::uint64_t left, std::uint64_t right) { return format_.before(left, right); });
  return static_cast<std::size_t>(at - hashes_.begin());
}

void ScanCheck::begin(const LoadedKeys& loaded, const Operation& scan) noexcept {
  *this = ScanCheck{};
  started_ = true;
  position_ = loaded.find(scan.key_hash);
}

void ScanCheck::accept(const LoadedKeys& loaded, const Operation& scan, std::uint64_t key_hash) noexcept {
  const bool in_order =
      records_ == 0 ? key_hash == scan.key_hash : loaded.format().before(last_hash_, key_hash);
  bool nothing_skipped = true;
  if (position_ < loaded.size()) {
    if (loaded[position_] == key_hash) {
      ++position_;
    } else {
      nothing_skipped = loaded.format().before(key_hash, loaded[position_]);
    }
  }
  right_ = right_ && in_order && nothing_skipped && records_ < scan.scan_length;
  last_hash_ = key_hash;
  ++records_;
}

bool ScanCheck::finish(const LoadedKeys& loaded, const Operation& scan, bool more_remains) noexcept {
  started_ = false;
  const bool whole = records_ == scan.scan_length || position_ == loaded.size() || more_remains;
  return right_ && records_ > 0 && whole;
}

}  // namespace mxkv::bench
