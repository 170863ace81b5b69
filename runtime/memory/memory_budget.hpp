// One limit for all memory of the process, and how much of it is used for which purpose.
//
// A worker draws credit from the shared budget in batches of 64 KiB. So a charge in the hot path touches only
// the worker's own line. The sum of all charges never exceeds the limit; because unused credit counts as
// used, a worker may be refused up to (workers - 1) * kMaxIdleCredit bytes before the limit is reached. Value
// memory is charged by the span (64 KiB), not by the block: the limit is on memory held, not on bytes stored.
// Task memory is charged without asking, because even eviction needs tasks.
//
// It does not evict, and it has no shares per category: it only counts them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

/// The uses of memory.
enum class memory_category : std::uint8_t {
  index,
  items,
  tasks,
  output,
  buffers,
  retired,  ///< of items and index, in which it is counted as well: unlinked, waits for its epoch
  referenced,
  ghosts,  ///< fingerprints of evicted items
  other
};
inline constexpr std::size_t kMemoryCategories = 9;

class MemoryAccount;

/// The shared side. Thread-safety: any thread, except construction and destruction.
class MemoryBudget {
 public:
  static constexpr std::size_t kUnlimited = SIZE_MAX;

  /// `limit_bytes` for all; one account for each of `workers` workers.
  MemoryBudget(std::size_t limit_bytes, std::size_t workers);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// The account of a worker. The account itself is for its worker only.
  [[nodiscard]] MemoryAccount& account(WorkerId worker) noexcept;

  /// Takes `bytes` out of the budget if that many are left.
  [[nodiscard]] bool try_draw(std::size_t bytes) noexcept;
  /// Returns bytes that try_draw() gave.
  void give_back(std::size_t bytes) noexcept;

  /// Charges `bytes`, or changes nothing and returns false when the budget does not have them.
  [[nodiscard]] bool try_charge(memory_category category, std::size_t bytes) noexcept;
  /// Charges without asking; the limit may be exceeded. For memory without which nothing could be freed.
  void charge_unconditionally(memory_category category, std::size_t bytes) noexcept;
  /// Undoes try_charge() or charge_unconditionally(), or a charge of any account that no longer runs.
  void refund(memory_category category, std::size_t bytes) noexcept;

  /// Bytes drawn, unused credit of workers included.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t limit_bytes() const noexcept { return limit_.load(std::memory_order_relaxed); }
  /// Changes the limit while running. Below the bytes in use, draws fail until enough was given back.
  void set_limit_bytes(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }
  /// Bytes charged to a category by all workers. While workers run: a value near some recent moment.
  [[nodiscard]] std::size_t category_bytes(memory_category category) const noexcept;

 private:
  std::atomic<std::size_t> limit_;
  std::array<std::atomic<std::int64_t>, kMemoryCategories>
      direct_{};  // relaxed sums, nothing is ordered by them
  std::deque<MemoryAccount> accounts_;
  // Relaxed: a counter that admits or refuses; the memory itself is handed over elsewhere.
  alignas(kCacheLineBytes) std::atomic<std::size_t> used_{0};
};

/// The worker's side. Thread-safety: owner worker only; used_bytes() of any thread.
class alignas(kCacheLineBytes) MemoryAccount {
 public:
  static constexpr std::size_t kCreditBytes = std::size_t{64} << 10U;  ///< drawn at once
  static constexpr std::size_t kMaxIdleCredit = 2 * kCreditBytes;      ///< most that is kept unused

  explicit MemoryAccount(MemoryBudget& budget) noexcept : budget_(&budget) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// Charges `bytes`, or changes nothing and returns false when the budget does not have them.
  [[nodiscard]] bool try_charge(memory_category category, std::size_t bytes) noexcept {
    if (bytes > credit_ && !draw(bytes)) [[unlikely]] {
      return false;
    }
    credit_ -= bytes;
    add(category, static_cast<std::int64_t>(bytes));
    return true;
  }

  /// Returns bytes that this or another worker charged to `category`.
  void refund(memory_category category, std::size_t bytes) noexcept {
    add(category, -static_cast<std::int64_t>(bytes));
    credit_ += bytes;
    if (credit_ > kMaxIdleCredit) [[unlikely]] {
      return_credit(kCreditBytes);
    }
  }

  /// Books bytes from one category to another, such as from items to retired; the budget does not change.
  void move(memory_category from, memory_category to, std::size_t bytes) noexcept {
    add(from, -static_cast<std::int64_t>(bytes));
    add(to, static_cast<std::int64_t>(bytes));
  }

  /// Shows that this worker's retired bytes, a part of what items and nodes are charged for, are `now` after
  /// they were `before`; the budget does not change.
  void note_retired(std::size_t before, std::size_t now) noexcept {
    add(memory_category::retired, static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before));
  }

  /// Returns all unused credit: before parking, so that an idle worker holds nothing back.
  void flush() noexcept { return_credit(0); }

  /// Net bytes this worker charged; negative when it refunded others' charges. Thread-safety: any thread.
  [[nodiscard]] std::int64_t used_bytes(memory_category category) const noexcept {
    return used_[static_cast<std::size_t>(category)].load(std::memory_order_relaxed);
  }

 private:
  bool draw(std::size_t bytes) noexcept;
  void return_credit(std::size_t keep) noexcept;
  void add(memory_category category, std::int64_t bytes) noexcept {
    // One writer: a load and a store are enough, no locked instruction.
    auto& sum = used_[static_cast<std::size_t>(category)];
    sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  MemoryBudget* budget_;
  std::size_t credit_ = 0;
  std::array<std::atomic<std::int64_t>, kMemoryCategories> used_{};
};

}  // namespace mxkv::runtime
