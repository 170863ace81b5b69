// Where the next walk that makes room begins, and what it has to do: of a worker's eviction, or of a quota.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "server/store/core/quotas.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/item/item.hpp"
#include "server/store/upkeep/eviction_scores.hpp"

namespace mxkv::server {

/// What a walk does with an item that it meets.
enum class walk_verdict : std::uint8_t {
  stays,
  goes,
  moves,
  jumps,   ///< stays, and the walk goes on at the hand
  enough,  ///< stays, and the walk ends here
  behind,  ///< the item is behind the walk's last one
};

/// Thread-safety: one walk at a time.
class WalkHand {
 public:
  /// The key at which the walk begins or goes on.
  [[nodiscard]] std::string_view hand() const noexcept { return hand_.view(); }
  /// The walk pauses, and continues at this key.
  void pauses(std::string_view key) noexcept { hand_.set(key); }

 protected:
  /// Each walk over all items that finds too little doubles the part that goes; after this many, everything goes.
  static constexpr int kMostFruitless = 4;

  [[nodiscard]] double bolder(double part) const noexcept {
    return fruitless_laps_ == kMostFruitless ? 1 : std::min(1.0, std::ldexp(part, fruitless_laps_));
  }
  [[nodiscard]] EvictionScores::Seen seen(const Item& item, std::uint64_t now_us) const noexcept {
    return EvictionScores::seen(item.idle_us(now_us), item.reads(),
                                weighs_size_ ? item.memory_bytes() + kBesideItem : 0);
  }
  /// Returns whether more is missing.
  bool removes(std::size_t bytes) noexcept {
    missing_ -= std::min<std::uint64_t>(missing_, bytes);
    return missing_ > 0;
  }
  /// Call this when a walk that ends when it has enough has ended.
  void judge_lap() noexcept {
    if (missing_ == 0) {
      fruitless_laps_ = 0;
    } else if (whole_lap_ && fruitless_laps_ < kMostFruitless) {
      ++fruitless_laps_;
    }
  }

  HeldKey hand_;               ///< empty: at the first key
  bool whole_lap_ = false;     ///< the walk began at the first key
  bool weighs_size_ = true;    ///< what the scores weigh; an option may have changed since
  int fruitless_laps_ = 0;     ///< in a row
  std::uint64_t missing_ = 0;  ///< bytes that the walk still has to remove
};

}  // namespace mxkv::server
