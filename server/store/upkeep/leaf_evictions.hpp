// Removes items that a walk has met in one leaf: all of them by one task, under one latch.
//
// The task goes to the leaf that the walk read, and finds the items by their addresses. Where another task moved an
// item out of the leaf meanwhile, the item stays, and a later walk meets it again. So does an item whose key an
// operation holds. The removals send no reply and keep no order.
#pragma once

#include <array>
#include <cstdint>

#include "server/store/core/item_tree.hpp"

namespace mxkv::server {

/// The items of one leaf that go. Lives while the walk is at that leaf. Thread-safety: on the walk's worker.
class LeafEvictions {
 public:
  LeafEvictions() noexcept {}  // NOLINT: leaves the words uninitialised, as a walk has one for each leaf

  /// `seen`: the leaf's word of the item, in the leaf's order.
  void add(std::uint64_t seen);
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Starts the task. `walk` read the leaf, and its pin keeps the items in memory; null: the caller read the leaf in
  /// the worker's present epoch.
  void start(ItemNode& leaf, const runtime::MxTask* walk, runtime::Worker& worker);

 private:
  static constexpr unsigned kMost = index::NodeMeta::kMaxBlocks * index::NodeMeta::kMaxSlots;

  std::array<std::uint64_t, kMost> seen_;
  unsigned count_ = 0;
};

}  // namespace mxkv::server
