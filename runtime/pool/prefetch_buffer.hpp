// The prefetch buffer: the tasks that a worker executes next, in order, with their lines on the way [Mx 3].
//
// A ring. Tasks enter at the tail and are executed from the head, first in first out. A prefetch needs other
// work between its request and its use. Two ways to ask for the lines:
//   at_spawn   when the task enters; the window bounds how many are on the way.
//   distance   when the task is `distance` slots from the head. A cursor remembers up to where lines were
//              asked for, since looking only at head + distance skips tasks that entered while the ring was
//              shorter than that.
// A loop may also go over the tasks where they are, again and again, as if each were taken and entered anew at
// its turn. Tasks that go on are not moved then; a task that ended gives its place to another.
//
// `Prefetcher` asks for a task's lines; a test counts there. An entry is a task and, in the low bits of its
// address, which of the worker's pools it came from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/options.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// As options files and statistics name it.
[[nodiscard]] constexpr std::string_view prefetch_mode_name(prefetch_mode mode) noexcept {
  switch (mode) {
    case prefetch_mode::off:
      return "off";
    case prefetch_mode::distance:
      return "distance";
    case prefetch_mode::at_spawn:
      return "at_spawn";
    case prefetch_mode::tuned:
      return "auto";
  }
  return "?";
}

/// A task in the buffer. `pool` is 0 for a free task, else 1 + the index of the worker's pool.
struct BufferedTask {
  MxTask* task;
  std::size_t pool;
};

/// Prefetches the annotated lines: the product uses this.
struct AnnotatedLines {
  [[gnu::always_inline]] static void ask(const MxTask& task) noexcept { task.prefetch(); }
};

/// Thread-safety: owner worker only.
/// Asks for a task's lines.
template <class P>
concept LinePrefetcher = requires(const MxTask& task) { P::ask(task); };

template <LinePrefetcher Prefetcher = AnnotatedLines>
class BasicPrefetchBuffer {
 public:
  static constexpr std::uint32_t kCapacity = 512;
  /// Task blocks are cache-line aligned, which leaves six bits for the pool.
  static constexpr std::size_t kMaxPools = kCacheLineBytes - 1;

  explicit BasicPrefetchBuffer(const PrefetchOptions& options) noexcept { configure(options); }

  /// Changes how and how far ahead lines are asked for. Tasks in the buffer stay.
  void configure(const PrefetchOptions& options) noexcept {
    MXKV_ASSERT(options.window >= 1 && options.window <= kCapacity / 2,
                "the window fits the ring with room for respawned tasks");
    MXKV_ASSERT(options.mode != prefetch_mode::tuned, "a tuner has chosen before");
    mode_ = options.mode;
    distance_ = options.distance;
    window_ = options.window;
    prefetched_ = head_;
  }

  [[nodiscard]] PrefetchOptions options() const noexcept {
    return {.mode = mode_, .distance = distance_, .window = window_};
  }

  /// Whether lines are asked for when a task enters, or had its turn.
  [[nodiscard]] bool asks_at_spawn() const noexcept { return mode_ == prefetch_mode::at_spawn; }
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] std::uint32_t window() const noexcept { return window_; }
  /// How many tasks may still enter before the window is full.
  [[nodiscard]] std::uint32_t room() const noexcept { return size() < window_ ? window_ - size() : 0; }

  [[gnu::always_inline]] void push(MxTask* task, std::size_t pool = 0) noexcept {
    MXKV_DCHECK(size() < kCapacity, "the prefetch buffer overflows");
    MXKV_DCHECK((reinterpret_cast<std::uintptr_t>(task) & kMaxPools) == 0 && pool <= kMaxPools,
                "a task is line aligned, which leaves room for its pool");
    slots_[tail_ % kCapacity] = reinterpret_cast<std::uintptr_t>(task) | pool;
    ++tail_;
    if (mode_ == prefetch_mode::at_spawn) {
      Prefetcher::ask(*task);
    }
  }

  /// The next task, which stays. The buffer must not be empty.
  [[nodiscard]] BufferedTask front() const noexcept {
    MXKV_DCHECK(!empty(), "there is a next task");
    return task_of(slots_[head_ % kCapacity]);
  }

  /// Takes the next task; asks for the lines of tasks that came near enough. The buffer must not be empty.
  [[nodiscard, gnu::always_inline]] BufferedTask pop() noexcept {
    MXKV_DCHECK(!empty(), "there is a next task");
    const std::uintptr_t entry = slots_[head_ % kCapacity];
    ++head_;
    if (mode_ == prefetch_mode::distance) {
      prefetch_ahead();
    }
    return task_of(entry);
  }

  // --- Turns in place. Places run from begin() to end(), which tasks that enter meanwhile move ---

  /// The place of the first turn.
  [[nodiscard]] std::uint32_t begin_turns() noexcept {
    if (mode_ == prefetch_mode::distance) [[unlikely]] {
      prefetch_ahead();
    }
    return head_;
  }
  [[nodiscard]] std::uint32_t begin() const noexcept { return head_; }
  [[nodiscard]] std::uint32_t end() const noexcept { return tail_; }
  [[nodiscard]] BufferedTask at(std::uint32_t place) const noexcept {
    return task_of(slots_[place % kCapacity]);
  }
  /// A place's task, if it is a free one.
  struct Free {
    std::uintptr_t entry;
    explicit operator bool() const noexcept { return (entry & kMaxPools) == 0; }
    [[nodiscard]] MxTask* task() const noexcept { return reinterpret_cast<MxTask*>(entry); }
  };
  [[nodiscard]] Free free_at(std::uint32_t place) const noexcept { return {slots_[place % kCapacity]}; }
  /// The free task at `place` had its turn and goes on: it is behind all others now.
  [[gnu::always_inline]] void had_turn(std::uint32_t place) noexcept {
    if (mode_ == prefetch_mode::at_spawn) [[likely]] {
      Prefetcher::ask(*task_of(slots_[place % kCapacity]).task);
    } else if (mode_ == prefetch_mode::distance) {
      prefetch_ahead_of(place);
    }
  }
  /// `task` takes the place of the task that was there: it has its turn next, or had_turn() says that this was it.
  [[gnu::always_inline]] void give_place(std::uint32_t place, MxTask* task) noexcept {
    slots_[place % kCapacity] = reinterpret_cast<std::uintptr_t>(task);
  }
  /// The task at `place` had its turn and leaves. The next turn is begin()'s: the order stays, so that tasks
  /// that began together end one after the other.
  [[gnu::noinline]] void take_out(std::uint32_t place) noexcept {
    turn_to(place);
    ++head_;
    if (mode_ == prefetch_mode::distance && !empty()) {
      prefetch_ahead_of(head_ - 1);
    }
  }
  /// The loop ends before `place`: tasks that had their turn go behind the others, or the others before them.
  void turn_to(std::uint32_t place) noexcept {
    if (place - head_ <= tail_ - place) {
      for (; head_ != place; ++head_, ++tail_) {
        slots_[tail_ % kCapacity] = slots_[head_ % kCapacity];
      }
    } else {
      for (; tail_ != place; --tail_, --head_) {
        slots_[(head_ - 1) % kCapacity] = slots_[(tail_ - 1) % kCapacity];
      }
    }
    prefetched_ = head_ + std::min(size(), distance_);
  }

 private:
  [[nodiscard]] static BufferedTask task_of(std::uintptr_t entry) noexcept {
    return {reinterpret_cast<MxTask*>(entry & ~std::uintptr_t{kMaxPools}), entry & kMaxPools};
  }
  [[gnu::noinline]] void prefetch_ahead() noexcept {
    const std::uint32_t until = size() < distance_ ? tail_ : head_ + distance_;
    if (static_cast<std::int32_t>(head_ - prefetched_) > 0) {
      prefetched_ = head_;
    }
    for (; static_cast<std::int32_t>(until - prefetched_) > 0; ++prefetched_) {
      Prefetcher::ask(*task_of(slots_[prefetched_ % kCapacity]).task);
    }
  }

  /// By distance, after a turn at `place`: prefetches the task `distance_` places on, or, of fewer, this one.
  [[gnu::noinline]] void prefetch_ahead_of(std::uint32_t place) noexcept {
    std::uint32_t ahead = place + std::min(distance_, size());
    if (static_cast<std::int32_t>(ahead - tail_) >= 0) {
      ahead -= size();
    }
    Prefetcher::ask(*task_of(slots_[ahead % kCapacity]).task);
  }

  prefetch_mode mode_ = prefetch_mode::off;
  std::uint32_t distance_ = 0;
  std::uint32_t window_ = 1;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t prefetched_ = 0;
  std::array<std::uintptr_t, kCapacity> slots_{};
};

using PrefetchBuffer = BasicPrefetchBuffer<>;

}  // namespace mxkv::runtime
