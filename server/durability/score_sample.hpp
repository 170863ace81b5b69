// The scores of the items that a start finds (eviction_scores.hpp), and the bytes of them that fit into
// memory. If not all fit, the sample shows from which score on items are left out, and how many of the items with
// exactly that score: thousands of items may be equally good.
//
// A full sample is thinned: every second item goes, and from then on half as many are noted. So it is exact
// for few items, and at most a percent off for many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace mxkv::server {

/// An item's approximate bytes, and its score as eviction gives it.
struct ItemFacts {
  double score = 0;
  std::uint64_t bytes = 0;
};

/// The items that a load takes: all with lower scores, and of those with exactly this score a part.
struct ScoreLine {
  double score = std::numeric_limits<double>::infinity();
  double part_at_it = 1;  ///< 0 to 1
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

  /// The best items, with about this part of the bytes that fitted. Less than `part`, because the sample's error, and
  /// spans that end up less full, must not push out better items, and the tree above the leaves needs memory, too.
  [[nodiscard]] ScoreLine line(double part) {
    std::ranges::sort(sample_, {}, &ItemFacts::score);
    constexpr double kSure = 0.985;
    constexpr double kApart = 1 << 20U;
    double room = -kApart;
    for (const ItemFacts& facts : sample_) {
      room += static_cast<double>(facts.bytes) * part * kSure * static_cast<double>(fitted_bytes_) /
              static_cast<double>(std::max<std::uint64_t>(found_bytes_, 1));
    }
    for (auto tie = sample_.begin(); tie != sample_.end();) {
      double bytes = 0;
      const double score = tie->score;
      for (; tie != sample_.end() && tie->score == score; ++tie) {
        bytes += static_cast<double>(tie->bytes);
      }
      if (bytes > room) {
        return {.score = score, .part_at_it = std::max(room, 0.0) / bytes};
      }
      room -= bytes;
    }
    return {};
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
