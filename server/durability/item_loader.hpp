// Makes items of stored ones: for the tree of a store that does not run yet, and of what others' logs say.
#pragma once

#include <cstdint>

#include "index/bulk_load.hpp"
#include "runtime/base/clock.hpp"
#include "server/durability/left_out_keys.hpp"
#include "server/durability/replay.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// An item with all that was stored of it, in no tree. Null: out of memory. `wall_ahead_s`: as
/// Clock::wall_ahead_s(). Start-up only, on the thread that acts for the worker.
[[nodiscard]] Item* make_item(runtime::Worker& worker, const StoredItem& stored, std::int64_t wall_ahead_s);

/// The same of a put whose value, where it is apart, comes in one piece. On the worker.
[[nodiscard]] Item* make_item(runtime::Worker& worker, const PutRecord& put, std::string_view apart,
                              std::int64_t wall_ahead_s);

/// What recovery does with items that live.
struct LoadLimits {
  std::uint64_t newest_from_us = 0;  ///< items that were last read, or made, before are left out
};

/// Makes items of a key range, and appends them to a run of leaves. Thread-safety: one thread, which acts for
/// the run's worker.
class ItemLoader final : public ReplaySink {
 public:
  /// `left_out` takes the keys of items that do not fit. Null: the load ends at the first one.
  ItemLoader(index::LeafRun<ItemTraits>& run, const LoadLimits& limits, LeftOutKeys* left_out,
             const runtime::Clock& clock)
      : run_(run),
        limits_(limits),
        left_out_(left_out),
        now_s_(clock.steady_us() / kUsPerSecond),
        wall_ahead_s_(clock.wall_ahead_s()) {}

  bool item(const StoredItem& stored) override;

  /// It ended since there was no memory.
  [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
  /// Memory of them.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t greatest_order() const noexcept { return greatest_order_; }
  /// When the first one expires (unix s); the greatest number if none does.
  [[nodiscard]] std::uint32_t first_expiry() const noexcept { return first_expiry_; }

 private:
  /// Leaves the item out, or ends the load.
  bool refused(const StoredItem& stored);

  index::LeafRun<ItemTraits>& run_;
  const LoadLimits& limits_;
  LeftOutKeys* left_out_;
  std::uint64_t now_s_;
  std::int64_t wall_ahead_s_;
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t greatest_order_ = 0;
  std::uint32_t first_expiry_ = std::numeric_limits<std::uint32_t>::max();
  bool out_of_memory_ = false;
};

/// Bytes of memory that an item takes, and when it was last read or made.
struct ItemFacts {
  std::uint64_t last_access_us = 0;
  std::uint64_t bytes = 0;
};
[[nodiscard]] ItemFacts facts_of(const StoredItem& stored) noexcept;

}  // namespace mxkv::server
