// The scores of the items that a start finds (eviction_scores.hpp), and the bytes of them that fit into
// memory. If not all fit, the sample shows from which score on items are left out.
//
// A full sample is thinned: every second item goes, and from then on half as many are noted. So it is exact
// for few items, and at most a percent off for many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mxkv::server {

/// An item's approximate bytes, and its score as eviction gives it.
struct ItemFacts {
  double score = 0;
  std::uint64_t bytes = 0;
};

/// Thread-safety: none, like a plain value.
class ScoreSample {
 public:
  /// Notes an item that the start found.
  void note(const ItemFacts& facts) {
    found_bytes_ += facts.bytes;
    if (seen_++ % stride_ != 0) {
      return;
    }
    sample_.push_back({facts.score, facts.bytes * stride_});
    if (sample_.size() == kMost) {
      thin();
    }
  }
  /// A noted item fitted into memory.
  void fitted(const ItemFacts& facts) noexcept { fitted_bytes_ += facts.bytes; }

  void take(const ScoreSample& other) {
    sample_.insert(sample_.end(), other.sample_.begin(), other.sample_.end());
    found_bytes_ += other.found_bytes_;
    fitted_bytes_ += other.fitted_bytes_;
  }

  /// The items with this score or a lower one have about as many bytes as fitted.
  [[nodiscard]] double most_score() {
    std::sort(sample_.begin(), sample_.end(),
              [](const ItemFacts& a, const ItemFacts& b) { return a.score < b.score; });
    // The sample's error, and spans that end up less full, must not push out better items; and the tree above the
    // leaves needs memory, too.
    constexpr double kSure = 0.985;
    constexpr double kApart = 1 << 20U;
    const double part =
        static_cast<double>(fitted_bytes_) / static_cast<double>(std::max<std::uint64_t>(found_bytes_, 1));
    double all = 0;
    for (const ItemFacts& facts : sample_) {
      all += static_cast<double>(facts.bytes);
    }
    double bytes = 0;
    double previous = 0;
    for (const ItemFacts& facts : sample_) {
      bytes += static_cast<double>(facts.bytes);
      if (bytes > all * part * kSure - kApart) {
        return previous;
      }
      previous = facts.score;
    }
    return previous;
  }

 private:
  static constexpr std::size_t kMost = 65536;

  void thin() {
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      sample_[i] = {sample_[2 * i].score, 2 * sample_[2 * i].bytes};
    }
    sample_.resize(kMost / 2);
    stride_ *= 2;
  }

  std::vector<ItemFacts> sample_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
  std::uint64_t found_bytes_ = 0;
  std::uint64_t fitted_bytes_ = 0;
};

}  // namespace mxkv::server
