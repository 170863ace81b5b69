// A bounded set of recently used members. When it is full, a new member replaces one that has not been used
// since it came, or since the hand last passed it. A use costs one store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// A member's place in the set. Thread-safety: as a plain value.
class SecondChancePlace {
 public:
  [[nodiscard]] bool taken() const noexcept { return at_ != kNone; }
  /// Marks the member as used, so that the hand passes it once.
  void use() noexcept { used_ = true; }

 private:
  template <class T>
  friend class SecondChance;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::size_t at_ = kNone;
  bool used_ = false;
};

/// T has a SecondChancePlace `place`, and outlives its membership. Thread-safety: owner worker only.
template <class T>
class SecondChance {
 public:
  /// Adds a member that is not in the set. If it then has more than `most` members (at least one), calls
  /// leaves(T&) for each that has to go.
  template <class F>
  void add(T& one, std::size_t most, const F& leaves) {
    MXKV_ASSERT(!one.place.taken(), "nobody is in it twice");
    while (!members_.empty() && members_.size() >= std::max<std::size_t>(most, 1)) {
      T& victim = next_victim();
      remove(victim);
      leaves(victim);
    }
    one.place.at_ = members_.size();
    one.place.used_ = false;
    members_.push_back(&one);
  }
  void remove(T& one) noexcept {
    MXKV_ASSERT(one.place.taken() && members_[one.place.at_] == &one, "only a member leaves");
    members_.back()->place.at_ = one.place.at_;
    members_[one.place.at_] = members_.back();
    members_.pop_back();
    one.place.at_ = SecondChancePlace::kNone;
  }
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

 private:
  // Ends: in a second round no member is marked as used.
  T& next_victim() noexcept {
    for (;; ++hand_) {
      hand_ = hand_ < members_.size() ? hand_ : 0;
      T& one = *members_[hand_];
      if (!one.place.used_) {
        return one;
      }
      one.place.used_ = false;
    }
  }

  std::vector<T*> members_;
  std::size_t hand_ = 0;
};

}  // namespace mxkv::server
