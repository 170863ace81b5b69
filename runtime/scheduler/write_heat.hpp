// Finds the objects that many workers write to at once, as one worker meets them. An object that adapts
// changes its primitive by this.
//
// An object is hot if this worker's writers often lost its latch to others, between their read and their own
// try: no task of the same worker comes in between, so that it takes two workers. An object is cold if its
// writers came to its pool at a low rate. Both are counted in a window of time. An object without a slot
// takes a slot whose window is over, else the slot of the least count. Objects are names here, which are
// never followed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace mxkv::runtime {

class DataObject;

/// Thread-safety: owner worker only.
class WriteHeat {
 public:
  static constexpr std::uint64_t kWindowNs = 10'000'000;
  /// Lost tries in a window, of one worker, that make an object hot.
  static constexpr std::uint32_t kLost = 32;
  /// Writes in a window below which an object has cooled.
  static constexpr std::uint32_t kFewWrites = 64;

  /// Counts a try that was lost. True: the object has become hot, and is counted anew.
  [[nodiscard]] bool lost(const DataObject* object, std::uint64_t now_ns) noexcept {
    Slot& slot = slot_of(object, now_ns);
    if (now_ns - slot.since_ns >= kWindowNs) {
      slot = {object, 0, now_ns};
    }
    if (++slot.count < kLost) {
      return false;
    }
    slot = {};
    return true;
  }
  /// Counts a write of a hot object in its pool. True: it has cooled, and is counted anew.
  [[nodiscard]] bool wrote(const DataObject* object, std::uint64_t now_ns) noexcept {
    Slot& slot = slot_of(object, now_ns);
    ++slot.count;
    const std::uint64_t passed_ns = now_ns - slot.since_ns;
    if (passed_ns < kWindowNs) {
      return false;
    }
    const bool few = slot.count * kWindowNs < kFewWrites * passed_ns;
    slot = few ? Slot{} : Slot{object, 0, now_ns};
    return few;
  }

 private:
  static constexpr std::size_t kSlots = 8;
  struct Slot {
    const DataObject* object = nullptr;
    std::uint64_t count = 0;
    std::uint64_t since_ns = 0;
  };

  [[nodiscard]] Slot& slot_of(const DataObject* object, std::uint64_t now_ns) noexcept {
    const auto worth = [now_ns](const Slot& slot) {
      return now_ns - slot.since_ns < kWindowNs ? slot.count + 1 : 0;
    };
    Slot* least = slots_.data();
    for (Slot& slot : slots_) {
      if (slot.object == object) {
        return slot;
      }
      if (worth(slot) < worth(*least)) {
        least = &slot;
      }
    }
    return *least = {object, 0, now_ns};
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace mxkv::runtime
