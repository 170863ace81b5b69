// A bounded set of those that are used: who comes when it is full takes the place of one that was not used since it came,
// or since the hand came by last. A use costs a store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// What a member keeps of the set. Thread-safety: that of a plain value.
class SecondChancePlace {
 public:
  [[nodiscard]] bool taken() const noexcept { return at_ != kNone; }
  /// It is not the next to leave.
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
  /// Takes one in that is not there. It has `most` members then, one at least: leaves(T&) for each that has to go.
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
  // Ends: a second time round nobody is used.
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
