// Makes items of stored ones: for the tree of a store that does not run yet, and of records in other nodes'
// logs.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "index/bulk_load.hpp"
#include "runtime/base/clock.hpp"
#include "server/durability/left_out_keys.hpp"
#include "server/durability/replay.hpp"
#include "server/durability/score_sample.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

/// Makes an item with all its stored data, in no tree. Null: out of memory. `wall_ahead_s`: as
/// Clock::wall_ahead_s(). Start-up only, on the thread that acts for the worker.
[[nodiscard]] Item* make_item(runtime::Worker& worker, const StoredItem& stored, std::int64_t wall_ahead_s);

/// The same for a put whose value, if it is apart, comes in one piece. On the worker.
[[nodiscard]] Item* make_item(runtime::Worker& worker, const PutRecord& put, std::string_view apart,
                              std::int64_t wall_ahead_s);

/// Recovery's limits for items to load.
struct LoadLimits {
  /// Takes the keys of items that do not fit. Null: the load ends at the first item without memory.
  LeftOutKeys* left_out = nullptr;
  std::uint64_t now_us = 0;  ///< of the scores
  bool weighs_size = true;   ///< as Store::weighs_size()
  ScoreLine line;            ///< other items are left out
};

/// One thread's part of a load that measures how much fits. It loads items in the order of their keys until
/// memory runs out for some thread; from then on it only notes them.
struct LoadTrial {
  std::atomic<bool>* is_short =
      nullptr;  ///< of all threads. Relaxed: a thread that sees it late only tries once more
  ScoreSample sample;
};

/// Makes the items of a key range, and appends them to a run of leaves. Thread-safety: one thread, which acts
/// for the run's worker.
class ItemLoader final : public ReplaySink {
 public:
  /// `trial`: null for the final load.
  ItemLoader(index::LeafRun<ItemTraits>& run, const LoadLimits& limits, const runtime::Clock& clock,
             LoadTrial* trial)
      : run_(run), limits_(limits), trial_(trial), now_s_(clock.steady_us() / kUsPerSecond) {}

  bool item(const StoredItem& stored) override;

  /// Whether the load ended for lack of memory.
  [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
  /// Memory of the items.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t greatest_order() const noexcept { return greatest_order_; }
  /// The earliest expiry (steady s); the greatest number if no item expires.
  [[nodiscard]] std::uint32_t first_expiry() const noexcept { return first_expiry_; }

 private:
  /// Leaves the item out, or ends the trial or the load.
  bool refused(const StoredItem& stored);
  [[nodiscard]] bool is_worse_than_line(const StoredItem& stored) noexcept;
  [[nodiscard]] ItemFacts facts_of(const StoredItem& stored) const noexcept;

  index::LeafRun<ItemTraits>& run_;
  const LoadLimits& limits_;
  LoadTrial* trial_;
  std::uint64_t now_s_;
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t greatest_order_ = 0;
  std::uint32_t first_expiry_ = std::numeric_limits<std::uint32_t>::max();
  double owed_ = 0;  ///< of the items at the line
  bool out_of_memory_ = false;
};

/// The approximate bytes of an item in memory.
[[nodiscard]] std::uint64_t bytes_of(const StoredItem& stored) noexcept;

}  // namespace mxkv::server
