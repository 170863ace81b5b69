// Which tasks of one worker were put back so often that something is wrong.
//
// A task that meets a writer, or waits for a node to go, says step::retry and is put behind other work. That
// takes microseconds, or the milliseconds for which a worker is preempted. A task that has been put back
// kMany times waits for something that does not come. The watch counts the tasks that retried first and did
// not end yet, as many as there are slots. Where all work stands still they are among the waiting tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only.
class RetryWatch {
 public:
  static constexpr std::uint32_t kMany = 10'000;
  /// For so long a preempted worker may keep others waiting without anything being wrong.
  static constexpr std::uint64_t kPatienceNs = 100'000'000;

  /// The task was put back. Returns how often, if that is kMany, or twice, four times as many and so on; else
  /// 0.
  [[nodiscard]] std::uint32_t note(const MxTask& task, std::uint64_t now_ns) noexcept {
    Entry& entry = entry_of(task);
    if (entry.task == nullptr) {
      entry = {&task, 0, now_ns};
      ++watched_;
    }
    if (entry.task != &task) {
      return 0;
    }
    ++entry.retries;
    const std::uint32_t times = entry.retries / kMany;
    return entry.retries % kMany == 0 && (times & (times - 1)) == 0 ? entry.retries : 0;
  }
  /// When a task that is counted was first put back, by the same clock.
  [[nodiscard]] std::uint64_t since_ns(const MxTask& task) noexcept {
    MXKV_ASSERT(entry_of(task).task == &task, "the task is counted");
    return entry_of(task).since_ns;
  }
  /// Whether any task is counted.
  [[nodiscard]] bool any() const noexcept { return watched_ != 0; }
  /// The task ends, or leaves the worker.
  void forget(const MxTask& task) noexcept {
    Entry& entry = entry_of(task);
    if (entry.task == &task) {
      MXKV_ASSERT(watched_ > 0, "what is counted was counted");
      entry = {};
      --watched_;
    }
  }

 private:
  struct Entry {
    const MxTask* task = nullptr;
    std::uint32_t retries = 0;
    std::uint64_t since_ns = 0;
  };
  static constexpr std::size_t kSlots = 64;

  [[nodiscard]] Entry& entry_of(const MxTask& task) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&task) / kCacheLineBytes;
    return entries_[(address ^ address / kSlots) % kSlots];
  }

  std::array<Entry, kSlots> entries_{};
  std::uint32_t watched_ = 0;
};

}  // namespace mxkv::runtime
