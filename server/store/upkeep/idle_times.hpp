// How long items have been idle, and which of them are the idlest: the basis of eviction.
//
// Histograms of the idle times of items met recently, on a logarithmic scale of eight steps per octave. The
// counted items age with time, as the items themselves do. The histograms forget: when they are full, every
// count is halved. They should hold as many items as the store has, because neighbouring keys often have the
// same age. There are no lists, so a read costs no more than its access stamp.
//
// An item that was never read counts as idle for twice as long as it was, because most such items are never
// read. So these items have a histogram of their own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class IdleTimes {
 public:
  struct Seen {
    std::uint64_t idle_us;
    bool read;  ///< since it was stored
  };

  /// Notes an item that was met.
  void note(Seen item, std::uint64_t now_us) noexcept {
    Group& group = groups_of(item.read)[step_of(item.idle_us)];
    group.count += 1;
    group.sum_us += static_cast<double>(now_us) - static_cast<double>(item.idle_us);
    if (static_cast<std::uint64_t>(++total_) % kLookEvery == 0) {
      draw_line(now_us);
    }
  }

  /// Call this when a noted item is removed: it no longer counts, however often it was met. Otherwise removed
  /// items would make up the idlest part, and no present item would be in it.
  void forget(Seen item) noexcept {
    Groups& groups = groups_of(item.read);
    const unsigned here = step_of(item.idle_us);
    const unsigned least = here - std::min(here, kStepsAnOctave);  // age() may not have moved it yet
    for (unsigned step = here + 1; step-- > least;) {
      Group& group = groups[step];
      if (group.count > 0) {
        const double times = std::min(group.count, std::max(1.0, total_ / static_cast<double>(items_)));
        group.sum_us -= group.sum_us * (times / group.count);
        group.count -= times;
        total_ -= times;
        return;
      }
    }
  }

  /// Whether an item belongs to the idlest part of the noted items. Of the items in the line's step, this
  /// returns true for as many as keep to the part, evenly spread.
  [[nodiscard]] bool is_idlest(Seen item) noexcept {
    if (part_ >= 1) {
      return true;
    }
    const unsigned step = step_of(item.idle_us) + (item.read ? 0 : kUnreadSteps);
    if (step != line_) {
      return step > line_;
    }
    owed_ += at_line_;
    if (owed_ < 1) {
      return false;
    }
    owed_ -= 1;
    return true;
  }

  /// Sets the number of items in the store: the histograms hold so many before they forget.
  void remember(std::uint64_t items) noexcept {
    items_ = std::max<std::uint64_t>(items, 1);
    most_ = std::max<std::uint64_t>(items, kLeastNoted);
  }

  /// Sets the part of all items that counts as the idlest, 0 to 1.
  void set_part(double part, std::uint64_t now_us) noexcept {
    MXKV_ASSERT(part >= 0 && part <= 1, "a part of all is told idlest");
    part_ = part;
    draw_line(now_us);
  }

 private:
  static constexpr unsigned kStepsAnOctave = 8;
  static constexpr unsigned kSteps = 64 * kStepsAnOctave;
  static constexpr unsigned kUnreadSteps = kStepsAnOctave;  ///< twice as long
  static constexpr std::uint64_t kLookEvery = 64;
  static constexpr std::uint64_t kLeastNoted = 8192;
  static constexpr double kLongestUs = 1e18;

  /// The items of one step: their number, and the sum of their last access times (us).
  struct Group {
    double count = 0;
    double sum_us = 0;
  };
  using Groups = std::array<Group, kSteps>;

  static unsigned step_of(std::uint64_t idle_us) noexcept {
    const auto octave = static_cast<unsigned>(std::bit_width(idle_us | kStepsAnOctave)) - 1;  // 3 to 63
    return octave * kStepsAnOctave + static_cast<unsigned>(idle_us >> (octave - 3) & (kStepsAnOctave - 1));
  }

  Groups& groups_of(bool read) noexcept { return read ? read_ : unread_; }

  /// Moves each group to the step where it belongs now. Goes from the last step, so that no group is met
  /// twice.
  static void age(Groups& groups, std::uint64_t now_us) noexcept {
    for (unsigned step = kSteps; step-- > 0;) {
      Group& group = groups[step];
      if (group.count == 0) {
        continue;
      }
      const double idle_us = static_cast<double>(now_us) - group.sum_us / group.count;
      const unsigned to = step_of(static_cast<std::uint64_t>(std::clamp(idle_us, 0.0, kLongestUs)));
      if (to > step) {
        groups[to].count += group.count;
        groups[to].sum_us += group.sum_us;
        group = {};
      }
    }
  }

  void draw_line(std::uint64_t now_us) noexcept {
    age(read_, now_us);
    age(unread_, now_us);
    if (total_ >= static_cast<double>(most_)) {
      total_ /= 2;
      for (Groups* groups : {&read_, &unread_}) {
        for (Group& group : *groups) {
          group.count /= 2;
          group.sum_us /= 2;
        }
      }
    }
    double wanted = part_ * total_;
    line_ = kSteps + kUnreadSteps;
    at_line_ = 0;
    while (line_ > 0 && wanted > 0) {
      --line_;
      const double here = (line_ < kSteps ? read_[line_].count : 0) +
                          (line_ >= kUnreadSteps ? unread_[line_ - kUnreadSteps].count : 0);
      at_line_ = here == 0 ? 0 : std::min(1.0, wanted / here);
      wanted -= here;
    }
  }

  Groups read_{};
  Groups unread_{};
  double total_ = 0;
  std::uint64_t most_ = kLeastNoted;
  std::uint64_t items_ = kLeastNoted;  ///< in the store
  double part_ = 0;
  unsigned line_ = kSteps + kUnreadSteps;  ///< the step in which the part ends
  double at_line_ = 0;                     ///< the share of that step's items that belongs to the part
  double owed_ = 0;
};

}  // namespace mxkv::server
