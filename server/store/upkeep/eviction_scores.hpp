// Which items make room: the basis of eviction.
//
// An item's score is the time for which it has been idle, times a weight: 128, 16, 2 or 1 if clients read it
// never, once, twice or more often, and the root of its size if requests count and not bytes. The items with
// the greatest scores go first. So a large item has to be read more often than a small one: a miss costs a
// request whatever the item's size, and the room of a large item holds many small ones.
//
// A histogram of the scores of items met recently, on a logarithmic scale of eight steps per octave. The
// counted items age with time, as the items themselves do. The histogram forgets: when it is full, every
// count is halved. It should hold as many items as the store has, because neighbouring keys often have the
// same age. There are no lists, so a read costs no more than its access code.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class EvictionScores {
 public:
  struct Seen {
    double idle;    ///< in kUnitUs, plus one: items that were just used differ by their weights
    double weight;  ///< weight_of()
    [[nodiscard]] double score() const noexcept { return idle * weight; }
  };

  /// `reads`: 0 to 3. `bytes`: of the item; 0: its size has no say.
  [[nodiscard]] static Seen seen(std::uint64_t idle_us, std::uint32_t reads, std::size_t bytes) noexcept {
    constexpr std::array<double, 4> kOfReads{128, 16, 2, 1};
    MXKV_DCHECK(reads < kOfReads.size(), "reads are counted to three");
    return {static_cast<double>(idle_us) / kUnitUs + 1,
            kOfReads[reads] * (bytes == 0 ? 1 : std::sqrt(static_cast<double>(bytes)))};
  }

  /// Notes an item that was met.
  void note(Seen item, std::uint64_t now_us) noexcept {
    const unsigned step = step_of(item.score());
    first_ = std::min(first_, step);
    end_ = std::max(end_, step + 1);
    Group& group = groups_[step];
    group.count += 1;
    group.scores += item.score() - item.weight * units_since(now_us);
    group.weights += item.weight;
    if (static_cast<std::uint64_t>(++total_) % kLookEvery == 0) {
      draw_line(now_us);
    }
  }

  /// Call this when a noted item is removed: it no longer counts, however often it was met. Otherwise removed
  /// items would make up the worst part, and no present item would be in it.
  void forget(Seen item) noexcept {
    const unsigned here = step_of(item.score());
    const unsigned least = here - std::min(here, kStepsAnOctave);  // age() may not have moved it yet
    for (unsigned step = here + 1; step-- > least;) {
      Group& group = groups_[step];
      if (group.count > 0) {
        const double times = std::min(group.count, std::max(1.0, total_ / static_cast<double>(items_)));
        group.scale(1 - times / group.count);
        total_ -= times;
        return;
      }
    }
  }

  /// Whether an item belongs to the worst part of the noted items. Of the items in the line's step, this
  /// returns true for as many as keep to the part, evenly spread.
  [[nodiscard]] bool is_worst(Seen item) noexcept {
    if (part_ >= 1) {
      return true;
    }
    const unsigned step = step_of(item.score());
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

  /// Sets the number of items in the store: the histogram holds so many before it forgets.
  void remember(std::uint64_t items) noexcept {
    items_ = std::max<std::uint64_t>(items, 1);
    most_ = std::max<std::uint64_t>(items, kLeastNoted);
  }

  /// Sets the part of all items that counts as the worst, 0 to 1.
  void set_part(double part, std::uint64_t now_us) noexcept {
    MXKV_ASSERT(part >= 0 && part <= 1, "a part of all is 0 to 1");
    part_ = part;
    draw_line(now_us);
  }

 private:
  static constexpr double kUnitUs = 65536;
  static constexpr unsigned kStepsAnOctave = 8;
  static constexpr unsigned kSteps = 64 * kStepsAnOctave;
  static constexpr std::uint64_t kLookEvery = 64;
  static constexpr std::uint64_t kLeastNoted = 8192;

  /// The items of one step. The mean of their scores grows with the mean of their weights.
  struct Group {
    double count = 0;
    double scores = 0;  ///< their sum at aged_us_
    double weights = 0;

    void scale(double by) noexcept {
      count *= by;
      scores *= by;
      weights *= by;
    }
    void take(Group& other) noexcept {
      count += other.count;
      scores += other.scores;
      weights += other.weights;
      other = {};
    }
  };

  /// The upper digits of a double are its octave and the step in it.
  static unsigned step_of(double score) noexcept {
    constexpr unsigned kShift = 52 - 3;
    constexpr std::uint64_t kOfOne = std::bit_cast<std::uint64_t>(1.0) >> kShift;
    const std::uint64_t step = (std::bit_cast<std::uint64_t>(std::max(score, 1.0)) >> kShift) - kOfOne;
    return static_cast<unsigned>(std::min<std::uint64_t>(step, kSteps - 1));
  }

  /// Time since age() in units.
  [[nodiscard]] double units_since(std::uint64_t now_us) const noexcept {
    return now_us > aged_us_ ? static_cast<double>(now_us - aged_us_) / kUnitUs : 0;
  }

  /// Moves each group to the step where it belongs now. Goes from the last step, so that no group is met
  /// twice.
  void age(std::uint64_t now_us) noexcept {
    const double units = total_ == 0 ? 0 : units_since(now_us);
    aged_us_ = std::max(aged_us_, now_us);
    const unsigned from = first_;
    first_ = kSteps;
    for (unsigned step = end_; step-- > from;) {
      Group& group = groups_[step];
      if (group.count == 0) {
        continue;
      }
      group.scores += group.weights * units;
      const unsigned to = std::max(step_of(group.scores / group.count), step);
      if (to > step) {
        groups_[to].take(group);
        end_ = std::max(end_, to + 1);
      }
      first_ = std::min(first_, to);
    }
  }

  void draw_line(std::uint64_t now_us) noexcept {
    age(now_us);
    if (total_ >= static_cast<double>(most_)) {
      total_ /= 2;
      for (unsigned step = first_; step < end_; ++step) {
        groups_[step].scale(0.5);
      }
    }
    double wanted = part_ * total_;
    line_ = wanted > 0 ? end_ : kSteps;
    at_line_ = 0;
    while (line_ > 0 && wanted > 0) {
      --line_;
      const double here = groups_[line_].count;
      at_line_ = here == 0 ? 0 : std::min(1.0, wanted / here);
      wanted -= here;
    }
  }

  std::array<Group, kSteps> groups_{};
  unsigned first_ = kSteps;  ///< groups before this one, and from `end_` on, are empty
  unsigned end_ = 0;
  std::uint64_t aged_us_ = 0;
  double total_ = 0;
  std::uint64_t most_ = kLeastNoted;
  std::uint64_t items_ = kLeastNoted;  ///< in the store
  double part_ = 0;
  unsigned line_ = kSteps;  ///< the step in which the part ends
  double at_line_ = 0;      ///< the share of that step's items that belongs to the part
  double owed_ = 0;
};

}  // namespace mxkv::server
